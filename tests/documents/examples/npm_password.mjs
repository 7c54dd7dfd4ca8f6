import { readFile } from "node:fs/promises";
import { Filter, init } from "nestline";

await init();
const known = Filter.load(await readFile("passwords.nest"));
for (const password of ["123456", "rare words stand here"]) {
  console.log(password, known.mayContain(password) ? "is known: take another" : "is not known");
}
