"""Which requests a journal holds: each counts once, however often a line of it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.record import Record

_PAGE_BITS: Final = 12
_PAGE_MASK: Final = (1 << _PAGE_BITS) - 1
_PAGE_BYTES: Final = 1 << (_PAGE_BITS - 3)


class Census:
    """The indexes seen, a bit each, in pages: a million requests take 128 KiB, an odd index takes a page.

    Attributes:
        num_records: Different requests seen.
        num_repeated: Lines of requests that had been seen before.
    """

    def __init__(self) -> None:
        self.num_records = self.num_repeated = 0
        self._pages: dict[int, bytearray] = {}

    def is_new(self, index: int) -> bool:
        """Count a line of that request; whether it is the first one."""
        page = self._pages.get(index >> _PAGE_BITS)
        if page is None:
            page = self._pages[index >> _PAGE_BITS] = bytearray(_PAGE_BYTES)
        byte, bit = (index & _PAGE_MASK) >> 3, 1 << (index & 7)
        if page[byte] & bit:
            self.num_repeated += 1
            return False
        page[byte] |= bit
        self.num_records += 1
        return True

    def each_once(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records without those of requests that were there before."""
        return (record for record in records if self.is_new(record.index))

    def joins(self, other: Census) -> bool:
        """Take another's requests in; False, and nothing is taken, where one of them is here already."""
        for number, page in other._pages.items():
            mine = self._pages.get(number)
            if mine is not None and int.from_bytes(mine) & int.from_bytes(page):
                return False
        for number, page in other._pages.items():
            together = int.from_bytes(self._pages.get(number, b"")) | int.from_bytes(page)
            self._pages[number] = bytearray(together.to_bytes(_PAGE_BYTES))
        self.num_records += other.num_records
        self.num_repeated += other.num_repeated
        return True

    def encode(self) -> bytes:
        """As MessagePack."""
        return msgspec.msgpack.encode((self.num_records, self.num_repeated, self._pages))

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """The census that ``encode`` wrote.

        Raises:
            msgspec.MsgspecError: It is none.
        """
        census, kind = cls(), tuple[int, int, dict[int, bytearray]]
        census.num_records, census.num_repeated, census._pages = msgspec.msgpack.decode(data, type=kind)
        return census
