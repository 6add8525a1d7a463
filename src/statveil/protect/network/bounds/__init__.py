"""Lower bounds on networks: `lower_bound` leads, by covers, polygons, capacities, and the coarse table."""

from typing import NamedTuple


class NetworkBoundTuning(NamedTuple):
    """What steers the lower bound of a network: by judgement, but where results are named (benchmarks/RESULTS.md)."""

    most_sensitive: int = 30
    """Sensitive cells of a relation up to which its least imbalance is worked out; with more it is taken as zero, which is safe."""
    shrinks: tuple[float, ...] = (1.0, 1 - 1e-7, 1 - 1e-6, 1 - 1e-5, 1 - 1e-4, 1 - 1e-3)
    """Factors tried on multipliers that overdraw cells a little."""
    polygon_rounds: int = 25
    enough: float = 1e-4
    """Share by which a round must raise a block's bound, or it counts as idle."""
    patience: int = 3  # idle rounds in a row that are the last
    capacity_rounds: int = 12
    whole_block: int = 20_000
    """Cells up to which the polygon program is solved for the table as a whole."""
    most_for_capacity: int = 300_000
    """Cells up to which the program with capacities is solved for the whole table; beyond, for the coarse one only. "What the bound and
    the search each bring where totals are sensitive": on table26 with 209,456 cells it raises the bound within a run's time."""
    far_small: float = 0.002  # gap above which the bound of a small table is worth raising by polygons
    far_large: float = 0.01  # the same of a large one
    most_for_cases: int = 3_000_000
    """Cells up to which a process of its own raises the bound by cases of senses: two of them hold table36 in 4 GB."""
    slow_simplex: int = 30_000
    """Cells of a program from which each case begins anew with an interior point: on table36 7 s, by the simplex method 13 to 26 s."""
    first_cases: float = 0.2  # of the time for the bound: by then cases pay, or
    least_rise: float = 0.005
    """part of the gap that they have not closed: with unit weights half of it on table16, 2% on table26; with inverse ones next to none."""
    near: float = 0.1  # slack, as a share of a cut's terms, up to which a tree of senses keeps it: 2,184 of 7,023 on table16
    undecided: float = 1e-6  # share of a table's cost that a cell must move both ways for its sense to count as open
    longest_ray: int = 40  # doublings of a ray that shows a case impossible, until what it proves passes the best table
    negligible: float = 0.2  # share of the average below which a subtable's gap is left alone


TUNING = NetworkBoundTuning()
