"""Remembers: transcripts (the record), receipts, the SQLite index, notes."""
