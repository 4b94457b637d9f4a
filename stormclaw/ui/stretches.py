"""The three stretches of a transcript: committed, being written, and calls nobody has named yet.

A commit moves things from the later stretches to the end of the first, so the order of the
committed nodes is the order on screen.
"""

from __future__ import annotations

from stormclaw.ui.blocks import Block, Failure
from stormclaw.ui.column import Column


class Stretches:
    """Knows which blocks of a column belong to which stretch; the only one to add or move them.

    Attributes:
        stream: The thought and the parts of the answer being written.
        loose: Cards of calls that no committed answer has made (`!` of the person).
    """

    def __init__(self, column: Column) -> None:
        self.column = column
        self.stream: list[Block] = []
        self.loose: list[Block] = []

    @property
    def blocks(self) -> list[Block]:
        """All blocks, as they stand."""
        return self.column.blocks

    @property
    def committed(self) -> int:
        """How many blocks, from the first, are on disk."""
        return len(self.blocks) - len(self.stream) - len(self.loose)

    def clear(self, blocks: list[Block]) -> None:
        """Only these, all committed."""
        self.stream.clear()
        self.loose.clear()
        self.column.replace(0, len(self.blocks), blocks)

    def append(self, blocks: list[Block]) -> None:
        """To the end of what is committed."""
        place = self.committed
        self.not_last(place - 1)
        self.column.replace(place, place, blocks)

    def insert_stream(self, position: int, blocks: list[Block]) -> None:
        """Into what is being written."""
        place = self.committed + position
        self.stream[position:position] = blocks
        self.column.replace(place, place, blocks)

    def end_stream(self, blocks: list[Block]) -> None:
        """Put committed blocks in the place of the answer that was being written."""
        start, end = self.committed, self.committed + len(self.stream)
        self.stream.clear()
        if start != end:
            self.column.replace(start, end, [])
        if blocks:
            self.append(blocks)

    def add_loose(self, block: Block) -> None:
        """Below everything, until its node says where it belongs."""
        self.loose.append(block)
        self.column.replace(len(self.blocks), len(self.blocks), [block])

    def settle_loose(self, block: Block) -> None:
        """Its node is on disk: to the end of what is committed."""
        index = self.column.index_of(block)
        self.column.replace(index, index + 1, [])
        self.loose.remove(block)
        self.append([block])

    def touch(self, block: Block) -> None:
        """The block's source changed."""
        self.column.touch(self.column.index_of(block))

    def not_last(self, index: int) -> None:
        """What stopped there is no longer the last thing that happened."""
        source = self.blocks[index].source if index >= 0 else None
        if isinstance(source, Failure) and source.last:
            source.last = False
            self.column.touch(index)
