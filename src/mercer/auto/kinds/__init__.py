"""Kinds of columns: how they are recognised, read as items, and written as cells again."""
