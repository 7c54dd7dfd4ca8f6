"""Takes payloads of DUMP apart and puts them together, so that a test can give RESTORE anything.

A payload of a module's value is the type 7, the module's number, then fields: ("number", n) or
("string", bytes), an end, the version of RDB and a CRC-64. Lengths take 1, 2, 5 or 9 bytes."""

import struct

NUMBER, STRING, END = 2, 5, 0


def crc64(data):
    """CRC-64 of Jones: polynomial 0xad93d23594c935a9, bits reflected, no final inversion."""
    value = 0
    for byte in data:
        value = TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    return value


def make_table():
    polynomial = int(f"{0xAD93D23594C935A9:064b}"[::-1], 2)
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (polynomial if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = make_table()


def encode_length(number):
    if number < 1 << 6:
        return bytes([number])
    if number < 1 << 14:
        return bytes([0x40 | number >> 8, number & 0xFF])
    if number < 1 << 32:
        return b"\x80" + struct.pack(">I", number)
    return b"\x81" + struct.pack(">Q", number)


class Payload:
    """`module`, `version` and `fields` can be changed before bytes() puts it together again."""

    def __init__(self, payload, check=True):
        body, self.version, crc = payload[:-10], payload[-10:-8], payload[-8:]
        if check and struct.unpack("<Q", crc)[0] != crc64(payload[:-8]):
            raise ValueError("the checksum is wrong")
        if body[0] != 7:
            raise ValueError("not the value of a module")
        self.rest = body[1:]
        self.module = self.take_length()
        self.fields = []
        while (kind := self.take_length()) != END:
            if kind == NUMBER:
                self.fields.append(("number", self.take_length()))
            elif kind == STRING:
                self.fields.append(("string", self.take_string()))
            else:
                raise ValueError(f"field of kind {kind}")

    def take(self, count):
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def take_length(self):
        first = self.take(1)[0]
        if first >> 6 == 0:
            return first
        if first >> 6 == 1:
            return (first & 0x3F) << 8 | self.take(1)[0]
        if first == 0x80:
            return struct.unpack(">I", self.take(4))[0]
        if first == 0x81:
            return struct.unpack(">Q", self.take(8))[0]
        raise ValueError("a string with an encoding: set rdbcompression to no")

    def take_string(self):
        return self.take(self.take_length())

    def bytes(self, checksum=True):
        return self.wrap(b"".join(self.encoded_fields()) + bytes([END]), checksum)

    def encoded_fields(self):
        for kind, value in self.fields:
            if kind == "number":
                yield bytes([NUMBER]) + encode_length(value)
            else:
                yield bytes([STRING]) + encode_length(len(value)) + value

    def wrap(self, content, checksum=True):
        """Any content with a right checksum, or with 0 in its place, which takes no time."""
        body = b"\x07" + encode_length(self.module) + content + self.version
        return body + struct.pack("<Q", crc64(body) if checksum else 0)
