"""Executable attacks on released tables: what an attacker learns from answers and public knowledge, scored with the truth.

One attack a file, each with the threat it stands for, its number and its mark. An attack works in two steps: an estimate made from
`Attacker` (answers, register, catalogue) and a score made with `Truth` (the values).
"""
