"""How much of a line is looked at before it counts as too much."""

from __future__ import annotations

import re

MAX_COMMANDS = 200
MAX_WORDS = 400
"""Most words of one command; each may cost a look at the disk."""
MAX_SCRIPTS = 10
"""Most texts inside one line (`sh -c`, `eval`) that are parsed on their own."""
BUDGET_S = 0.25
"""Longest that a line is looked at once the parser has read it; what takes longer is high."""
HIDDEN_SUBSCRIPT = re.compile(r"\w\[.*(\$\(|`)", re.S)
"""What arithmetic in a text inside may be handed by the text around it."""
