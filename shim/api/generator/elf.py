"""Names that a shared library exports, read from its .dynsym section.

Only what 64-bit little-endian libraries need; a file of another shape is an error that names it.
"""

import mmap
import struct
from pathlib import Path

SECTION_DYNSYM = 11
SECTION_DYNAMIC = 6
SECTION_VERSIONS = 0x6FFFFFFD  # Names of versions that the library defines.
SECTION_VERSION_INDICES = 0x6FFFFFFF  # One number a symbol; the highest bit hides it from callers without a version.
INDEX_UNDEFINED = 0
INDEX_ABSOLUTE = 0xFFF1  # Version nodes appear as absolute symbols.
BIND_LOCAL = 0
TYPE_FUNCTION = 2
TYPE_INDIRECT_FUNCTION = 10
TAG_NEEDED = 1
TAG_SONAME = 14


class ElfError(Exception):
    """The file is not a shared library that we can read."""


class SharedLibrary:
    """Exports, SONAME and NEEDED of one file."""

    def __init__(self, path):
        self.path = Path(path)
        with open(path, "rb") as file:  # Of gigabytes only what is looked at is read.
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if data[:6] != b"\x7fELF\x02\x01":
            raise ElfError(f"{path}: not a 64-bit little-endian ELF file")
        self._data = data
        self._sections = self._read_sections()
        self.functions = set()
        self.objects = set()
        self.versions = {}  # Of functions that have one: name to version.
        self._read_symbols()
        self.soname = None
        self.needed = []
        self._read_dynamic()

    def _read_sections(self):
        offset = struct.unpack_from("<Q", self._data, 0x28)[0]
        count = struct.unpack_from("<H", self._data, 0x3C)[0]
        if not offset or not count:
            raise ElfError(f"{self.path}: has no section table")
        return [struct.unpack_from("<IIQQQQIIQQ", self._data, offset + index * 64) for index in range(count)]

    def _string(self, table, offset):
        start = table[4] + offset
        return self._data[start : self._data.find(b"\0", start)].decode()

    def _version_names(self):
        """Index to name; the library's own name, which is not a version, is left out."""
        names = {}
        for section in self._sections:
            if section[1] != SECTION_VERSIONS:
                continue
            strings, offset = self._sections[section[6]], section[4]
            while True:
                _, flags, index, _, _, name_offset, next_offset = struct.unpack_from("<HHHHIII", self._data, offset)
                name = struct.unpack_from("<I", self._data, offset + name_offset)[0]
                if not flags & 1:
                    names[index] = self._string(strings, name)
                if next_offset == 0:
                    break
                offset += next_offset
        return names

    def _version_indices(self):
        for section in self._sections:
            if section[1] == SECTION_VERSION_INDICES:
                return [
                    index & 0x7FFF
                    for (index,) in struct.iter_unpack("<H", self._data[section[4] : section[4] + section[5]])
                ]
        return []

    def _read_symbols(self):
        names, indices = self._version_names(), self._version_indices()
        for section in self._sections:
            if section[1] != SECTION_DYNSYM:
                continue
            strings = self._sections[section[6]]
            for number, offset in enumerate(range(section[4], section[4] + section[5], 24)):
                name, info, _, index, _, _ = struct.unpack_from("<IBBHQQ", self._data, offset)
                if index in (INDEX_UNDEFINED, INDEX_ABSOLUTE) or info >> 4 == BIND_LOCAL:
                    continue
                function = info & 15 in (TYPE_FUNCTION, TYPE_INDIRECT_FUNCTION)
                (self.functions if function else self.objects).add(self._string(strings, name))
                if number < len(indices) and indices[number] in names:
                    self.versions[self._string(strings, name)] = names[indices[number]]

    def _read_dynamic(self):
        for section in self._sections:
            if section[1] != SECTION_DYNAMIC:
                continue
            strings = self._sections[section[6]]
            for offset in range(section[4], section[4] + section[5], 16):
                tag, value = struct.unpack_from("<QQ", self._data, offset)
                if tag == TAG_NEEDED:
                    self.needed.append(self._string(strings, value))
                elif tag == TAG_SONAME:
                    self.soname = self._string(strings, value)
