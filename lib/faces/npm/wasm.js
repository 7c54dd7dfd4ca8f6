#!/usr/bin/env node
// Writes the compiled program into a file, for servers that compile none themselves: nestline-wasm [FILE].
import { writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import code from "./code.js";

writeFileSync(process.argv[2] ?? "nestline.wasm", gunzipSync(Buffer.from(code, "base64")));
