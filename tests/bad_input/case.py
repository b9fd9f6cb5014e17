"""What a case of bad input is, and what must come of it."""

import dataclasses


@dataclasses.dataclass
class ProgramCase:
    """A .pipe file for `pipec check`. Paths in it are relative to the corpus directory."""

    name: str
    text: bytes
    exits: tuple = (1,)
    says: tuple = ()                    # must all stand in standard error
    schemas: dict = dataclasses.field(default_factory=dict)     # file name → bytes


@dataclasses.dataclass
class DataCase:
    """One input file for a compiled program.

    accepted: the `id` (of text: the `line`) of the rows that pass, in order; None: not compared.
    refused: {record number: (reason, text that `detail` holds or None)}, all of them; None: not
    compared. accepted_prefix: accepted rows must only begin so (what comes then is open).
    """

    name: str
    data: bytes
    accepted: list = None
    refused: dict = None
    exits: tuple = (0,)
    says: tuple = ()
    accepted_prefix: bool = False
    warns: tuple = ()           # must stand in standard error, in one line of it, once


UNDECODABLE = "undecodable"


def undecodable(detail=None):
    return (UNDECODABLE, detail)
