"""Adapter to HiGHS: the only module that names it.

One thread and a fixed seed, so that the same model gives the same answer. Its time limit is not always kept, and it may
crash: callers run it inside an isolated process (`solve.processes`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import highspy
import numpy as np
from scipy.sparse import csr_matrix, hstack

from statveil.core.arrays import FloatArray, IntArray
from statveil.core.errors import SolverFailed
from statveil.core.limits import Ending
from statveil.solve.model import LinearModel, LinearSolution

Algorithm = Literal["simplex", "ipm", "choose"]
OnIncumbent = Callable[[FloatArray, float], None]

_STATUS = highspy.HighsModelStatus
_ENDINGS = {
    _STATUS.kOptimal: Ending.OPTIMAL,
    _STATUS.kInfeasible: Ending.INFEASIBLE,
    _STATUS.kUnboundedOrInfeasible: Ending.INFEASIBLE,
    _STATUS.kTimeLimit: Ending.OUT_OF_TIME,
    _STATUS.kIterationLimit: Ending.OUT_OF_TIME,
    _STATUS.kSolutionLimit: Ending.FEASIBLE,
    _STATUS.kInterrupt: Ending.FEASIBLE,
    _STATUS.kObjectiveBound: Ending.FEASIBLE,
    _STATUS.kObjectiveTarget: Ending.FEASIBLE,
    _STATUS.kModelEmpty: Ending.OPTIMAL,
}


class HighsTuning(NamedTuple):
    """How exact HiGHS must be. By judgement: amounts are whole numbers, and its points are rounded and checked."""

    tolerance: float = 1e-9
    """Of rows, columns, reduced costs and whole numbers: the smallest it takes is 1e-10."""
    absolute_gap: float = 1e-9
    least_seconds: float = 0.01
    """Given even where no time is left."""


TUNING = HighsTuning()


class HighsOptions(NamedTuple):
    """How HiGHS runs."""

    presolve: bool = True
    crossover: bool = True
    """From an interior point to a vertex; a point that is only a bound needs none."""
    as_it_comes: bool = False
    """With its own tolerances and seed, and its first answer."""


EXACTING, NO_CROSSOVER, NO_PRESOLVE = HighsOptions(), HighsOptions(crossover=False), HighsOptions(presolve=False)
AS_IT_COMES = HighsOptions(as_it_comes=True)


def solve(
    model: LinearModel,
    *,
    seconds: float,
    algorithm: Algorithm = "choose",
    gap: float = 0.0,
    start: FloatArray | None = None,
    on_incumbent: OnIncumbent | None = None,
    nodes: int | None = None,
    options: HighsOptions = EXACTING,
) -> LinearSolution:
    """Solve once, exploring `nodes` of the tree at most.

    An "infeasible" is checked by a second run without presolve, because presolve has been wrong before; not so `as_it_comes`.
    """
    highs = loaded(model, as_it_comes=options.as_it_comes)
    highs.setOptionValue("time_limit", max(seconds, TUNING.least_seconds))
    highs.setOptionValue("presolve", "on" if options.presolve else "off")
    if model.whole is None:
        highs.setOptionValue("solver", algorithm)
        highs.setOptionValue("run_crossover", "on" if options.crossover else "off")
    else:
        highs.setOptionValue("mip_rel_gap", gap)
        highs.setOptionValue("mip_abs_gap", TUNING.absolute_gap)
        if nodes is not None:
            highs.setOptionValue("mip_max_nodes", nodes)
        if start is not None:
            _set_start(highs, start)
        if on_incumbent is not None:
            _listen(highs, on_incumbent)
    highs.run()
    solution = read_solution(highs, model)
    if solution.ending is Ending.INFEASIBLE and options.presolve and not options.as_it_comes:
        return solve(model, seconds=seconds, algorithm=algorithm, gap=gap, start=start, on_incumbent=on_incumbent, options=NO_PRESOLVE)
    return solution


def loaded(model: LinearModel, *, as_it_comes: bool = False) -> Any:
    """A silent one-thread HiGHS that holds the model."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    if not as_it_comes:
        _make_exacting(highs, mixed=model.whole is not None)
    if highs.passModel(_as_highs(model)) == highspy.HighsStatus.kError:
        raise SolverFailed("HiGHS refused the model.")
    return highs


def _make_exacting(highs: Any, *, mixed: bool) -> None:
    highs.setOptionValue("parallel", "off")
    highs.setOptionValue("random_seed", 0)
    highs.setOptionValue("primal_feasibility_tolerance", TUNING.tolerance)
    highs.setOptionValue("dual_feasibility_tolerance", TUNING.tolerance)
    if mixed:
        highs.setOptionValue("mip_feasibility_tolerance", TUNING.tolerance)


def read_solution(highs: Any, model: LinearModel) -> LinearSolution:
    """The state of a finished run in our words."""
    status = highs.getModelStatus()
    ending = _ENDINGS.get(status, Ending.FAILED)
    info, found = highs.getInfo(), highs.getSolution()
    x = np.asarray(found.col_value, dtype=np.float64) if found.value_valid else None
    duals = np.asarray(found.row_dual, dtype=np.float64) if found.dual_valid else None
    if ending is Ending.OUT_OF_TIME and x is not None and model.whole is not None and info.primal_solution_status == 2:
        ending = Ending.FEASIBLE
    if ending not in (Ending.OPTIMAL, Ending.FEASIBLE):
        x = None
    bound = info.mip_dual_bound if model.whole is not None else (info.objective_function_value if ending is Ending.OPTIMAL else -np.inf)
    return LinearSolution(
        ending=ending, x=x, objective=info.objective_function_value, bound=bound, row_duals=duals, native=highs.modelStatusToString(status)
    )


def _as_highs(model: LinearModel) -> Any:
    matrix = model.matrix.tocsr()
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = matrix.shape
    program.col_cost_ = model.cost
    program.col_lower_, program.col_upper_ = model.lower, model.upper
    program.row_lower_, program.row_upper_ = model.row_lower, model.row_upper
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = matrix.indptr
    program.a_matrix_.index_ = matrix.indices
    program.a_matrix_.value_ = matrix.data.astype(np.float64)
    if model.whole is not None:
        kinds = highspy.HighsVarType
        program.integrality_ = [kinds.kInteger if whole else kinds.kContinuous for whole in model.whole]
    return program


def _set_start(highs: Any, start: FloatArray) -> None:
    """Columns that are no number are left to the solver, which completes the point by a program of its own."""
    known = np.flatnonzero(~np.isnan(start))
    if known.size < start.size:
        highs.setSolution(known.size, known.astype(np.int32), start[known])
        return
    solution = highspy.HighsSolution()
    solution.col_value = start
    highs.setSolution(solution)


def _listen(highs: Any, on_incumbent: OnIncumbent) -> None:
    def report(event: Any) -> None:
        on_incumbent(np.asarray(event.data_out.mip_solution, dtype=np.float64), float(event.data_out.mip_dual_bound))

    highs.cbMipImprovingSolution.subscribe(report)


class WarmProgram:
    """A linear program solved again and again with other column bounds, each time from the last basis."""

    def __init__(self, model: LinearModel, *, first: Algorithm) -> None:
        self._model = model
        self._highs = loaded(model)
        self._highs.setOptionValue("solver", first)
        self._columns = np.arange(model.lower.size, dtype=np.int32)
        self._row_lower = np.asarray(model.row_lower, dtype=np.float64).copy()

    def solve(
        self,
        lower: FloatArray,
        upper: FloatArray,
        *,
        seconds: float,
        worth: float = np.inf,
        afresh: bool = False,
        row_lower: tuple[IntArray, FloatArray] | None = None,
    ) -> LinearSolution:
        """Solve with these column bounds. The run stops without a point once the objective must exceed `worth`.

        `row_lower` gives some rows, which have no upper bound, new lower ones. `afresh` forgets the last basis and takes an interior
        point: quicker where many bounds are new.
        """
        if afresh:
            self._highs.clearSolver()
            self._highs.setOptionValue("solver", "ipm")
        self._highs.setOptionValue("objective_bound", worth)
        self._highs.changeColsBounds(self._columns.size, self._columns, lower, upper)
        if row_lower is not None:
            self._change_rows(*row_lower)
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + max(seconds, TUNING.least_seconds))
        self._highs.run()
        self._highs.setOptionValue("solver", "simplex")  # from now on the dual simplex starts where it stood
        return read_solution(self._highs, self._model)

    def _change_rows(self, rows: IntArray, lower: FloatArray) -> None:
        new = np.flatnonzero(self._row_lower[rows] != lower)
        self._highs.changeRowsBounds(new.size, rows[new].astype(np.int32), lower[new], np.full(new.size, np.inf))
        self._row_lower[rows] = lower

    @property
    def iterations(self) -> int:
        """Simplex iterations of the last run."""
        return int(self._highs.getInfo().simplex_iteration_count)

    def dual_ray(self) -> FloatArray | None:
        """A direction of row multipliers that shows the last program infeasible, as the solver sees it; None if it gives none."""
        _, found, ray = self._highs.getDualRay()
        return np.asarray(ray, dtype=np.float64) if found else None


class ColumnRanges:
    """The least and the most that single columns of a linear program can be, each run from the last basis."""

    def __init__(self, model: LinearModel) -> None:
        self._highs = loaded(model)
        self._highs.run()
        self._found = self._highs.getModelStatus()
        self._highs.setOptionValue("solver", "simplex")
        self._highs.setOptionValue("simplex_strategy", 4)  # the primal one: the last point stays feasible, only the cost is new

    @property
    def possible(self) -> bool:
        return bool(self._found in (_STATUS.kOptimal, _STATUS.kModelEmpty))

    @property
    def point(self) -> FloatArray:
        """Where the last run ended: a point of the program, whatever was asked of it."""
        return np.asarray(self._highs.getSolution().col_value, dtype=np.float64)

    def lowest(self, column: int) -> float:
        return self._end(column, 1.0)

    def highest(self, column: int) -> float:
        return -self._end(column, -1.0)

    def toward(self, cost: FloatArray) -> bool:
        """Go to the point of least cost, whatever it is; whether there is one."""
        columns = np.arange(cost.size, dtype=np.int32)
        self._highs.changeColsCost(cost.size, columns, cost)
        found = self._run()
        self._highs.changeColsCost(cost.size, columns, np.zeros(cost.size))
        return bool(found == _STATUS.kOptimal)

    def _run(self) -> Any:
        self._highs.run()
        status = self._highs.getModelStatus()
        if status not in (_STATUS.kOptimal, _STATUS.kUnbounded, _STATUS.kUnboundedOrInfeasible):
            self._highs.clearSolver()  # a basis that went astray: begin anew
            self._highs.run()
            status = self._highs.getModelStatus()
        return status

    def _end(self, column: int, cost: float) -> float:
        self._highs.changeColCost(column, cost)
        status = self._run()
        value = self._highs.getInfo().objective_function_value
        self._highs.changeColCost(column, 0.0)
        if status in (_STATUS.kUnbounded, _STATUS.kUnboundedOrInfeasible):
            return -np.inf
        if status != _STATUS.kOptimal:
            raise SolverFailed("HiGHS could not find how far a cell can go.", hint="Look at fewer cells.")
        return float(value)


class PackingProgram:
    """max value'x, x between 0 and an upper bound, under rows a'x <= b that are added bit by bit; each run begins at the last basis."""

    def __init__(self, value: FloatArray, *, upper: float) -> None:
        size = value.size
        none = np.zeros(0)
        model = LinearModel(
            cost=-value, matrix=csr_matrix((0, size)), row_lower=none, row_upper=none, lower=np.zeros(size), upper=np.full(size, upper)
        )
        self._model, self._highs = model, loaded(model)

    def with_rows(self, rows: csr_matrix, most: FloatArray, *, seconds: float) -> FloatArray | None:
        """The optimum with these rows added; None where the run ends without one."""
        if most.size:
            lower = np.full(most.size, -np.inf)
            self._highs.addRows(most.size, lower, most, rows.nnz, rows.indptr[:-1], rows.indices, rows.data)
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + max(seconds, TUNING.least_seconds))
        self._highs.run()
        found = read_solution(self._highs, self._model)
        return found.x if found.ending is Ending.OPTIMAL else None


class CirculationProgram:
    """The cheapest deviation that keeps all sums and moves one cell by a given amount; each run begins at the last basis.

    Every cell has two columns, up and down, so that a move costs the same either way.
    """

    def __init__(self, matrix: csr_matrix, down: FloatArray, up: FloatArray) -> None:
        size = down.size
        rows = np.zeros(matrix.shape[0])
        none = np.zeros(2 * size)
        both = hstack([matrix, -matrix], format="csr")
        self._size, self._most = size, np.concatenate([up, down]).astype(np.float64)
        self._highs = loaded(LinearModel(cost=none, matrix=both, row_lower=rows, row_upper=rows, lower=none, upper=self._most))
        self._highs.setOptionValue("presolve", "off")
        self._highs.setOptionValue("solver", "simplex")
        self._columns = np.arange(2 * size, dtype=np.int32)

    def cheapest(self, cell: int, amount: float, cost: FloatArray, *, still: IntArray, seconds: float) -> FloatArray | None:
        """The deviation, or None where there is none: cells that are `still`, or cost infinitely much, do not move."""
        closed = np.unique(np.concatenate([still, np.flatnonzero(~np.isfinite(cost))]))
        price = np.where(np.isfinite(cost), cost, 0.0)
        self._highs.changeColsCost(2 * self._size, self._columns, np.concatenate([price, price]))
        upper = self._most.copy()
        upper[closed] = upper[closed + self._size] = 0.0
        lower = np.zeros(2 * self._size)
        there, back = (cell, cell + self._size) if amount > 0 else (cell + self._size, cell)
        lower[there], upper[back] = abs(amount), 0.0
        upper[there] = min(upper[there], abs(amount))
        if upper[there] < abs(amount):
            return None
        self._highs.changeColsBounds(2 * self._size, self._columns, lower, upper)
        return self._run(seconds)

    def _run(self, seconds: float) -> FloatArray | None:
        """Run it; an answer without a point is asked again from the beginning."""
        for attempt in range(2):
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + max(seconds, TUNING.least_seconds))
            self._highs.run()
            if self._highs.getModelStatus() == _STATUS.kOptimal:
                point = np.asarray(self._highs.getSolution().col_value, dtype=np.float64)
                return np.asarray(point[: self._size] - point[self._size :])
            if attempt == 0:
                self._highs.clearSolver()
        return None


class CapacityProgram:
    """How far one cell can go within capacities of all cells that keep all sums, with the multipliers of the sums that show it."""

    def __init__(self, matrix: csr_matrix) -> None:
        rows, size = np.zeros(matrix.shape[0]), matrix.shape[1]
        none = np.zeros(size)
        self._highs = loaded(LinearModel(cost=none, matrix=matrix, row_lower=rows, row_upper=rows, lower=none, upper=none))
        self._highs.setOptionValue("presolve", "off")
        self._highs.setOptionValue("solver", "simplex")
        self._highs.setOptionValue("simplex_strategy", 4)  # the primal one: the last point stays feasible, only the cost is new
        self._columns = np.arange(size, dtype=np.int32)

    def capacities(self, lower: FloatArray, upper: FloatArray) -> None:
        """Every cell's own, from now on; zero lies between them."""
        self._highs.changeColsBounds(self._columns.size, self._columns, lower, upper)

    def farthest(self, cell: int, sense: int, *, most: tuple[float, float], seconds: float) -> tuple[FloatArray, FloatArray] | None:
        """The point at which the cell is farthest up (sense +1) or down (-1), between `most`, and the multipliers; None: the run failed."""
        _, _, low, high, _ = self._highs.getCol(cell)
        self._highs.changeColBounds(cell, *most)
        self._highs.changeColCost(cell, -float(sense))
        found = self._ended(seconds)
        self._highs.changeColCost(cell, 0.0)
        self._highs.changeColBounds(cell, low, high)
        return found

    def _ended(self, seconds: float) -> tuple[FloatArray, FloatArray] | None:
        for attempt in range(2):
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + max(seconds, TUNING.least_seconds))
            self._highs.run()
            if self._highs.getModelStatus() == _STATUS.kOptimal:
                found = self._highs.getSolution()
                return np.asarray(found.col_value, dtype=np.float64), np.asarray(found.row_dual, dtype=np.float64)
            if attempt == 0:
                self._highs.clearSolver()
        return None


class CoveringProgram:
    """min cost'x, x between bounds, under rows a'x >= b that are added bit by bit; each run begins at the last basis.

    A row that cannot be met is bought off by a further column at a price far above all others, so that there is always an answer.
    """

    def __init__(self, cost: FloatArray, *, price: float) -> None:
        size = cost.size + 1
        none = np.zeros(0)
        self._model = LinearModel(
            cost=np.append(cost, price),
            matrix=csr_matrix((0, size)),
            row_lower=none,
            row_upper=none,
            lower=np.zeros(size),
            upper=np.ones(size),
        )
        self._highs = loaded(self._model)
        self._highs.setOptionValue("presolve", "off")
        self._highs.setOptionValue("solver", "simplex")
        self._columns = np.arange(size, dtype=np.int32)

    def add(self, rows: csr_matrix, least: FloatArray) -> None:
        """Rows over all columns, the last of them that which buys them off."""
        if least.size:
            self._highs.addRows(least.size, least, np.full(least.size, np.inf), rows.nnz, rows.indptr[:-1], rows.indices, rows.data)

    def drop(self, rows: IntArray) -> IntArray:
        """Leave out those of these rows that are in the last basis, which stays; the numbers of those that are out."""
        basis = self._highs.getBasis()
        states = list(basis.row_status)  # read once: every look makes a list of all
        out = np.array([row for row in rows.tolist() if states[row] == highspy.HighsBasisStatus.kBasic], dtype=np.int32)
        if out.size and basis.valid:
            gone = set(out.tolist())
            kept = highspy.HighsBasis()
            kept.col_status = basis.col_status
            kept.row_status = [status for row, status in enumerate(states) if row not in gone]
            kept.valid = True
            self._highs.deleteRows(out.size, out)
            self._highs.setBasis(kept)
            return out.astype(np.int64)
        return np.zeros(0, dtype=np.int64)

    def solve(self, lower: FloatArray, upper: FloatArray, *, seconds: float) -> tuple[FloatArray, FloatArray] | None:
        """The point, without the column that buys off, and the multipliers of the rows; None: the run did not end."""
        self._highs.changeColsBounds(self._columns.size, self._columns, np.append(lower, 0.0), np.append(upper, np.inf))
        self._highs.setOptionValue("time_limit", self._highs.getRunTime() + max(seconds, TUNING.least_seconds))
        self._highs.run()
        found = read_solution(self._highs, self._model)
        if found.ending is not Ending.OPTIMAL or found.x is None or found.row_duals is None:
            return None
        return found.x[:-1], found.row_duals
