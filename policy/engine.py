"""Generation for many live episodes at once.

An episode occupies a *slot*: a growing sequence of tokens whose keys and values stay in a store, so that nothing of
its past is ever computed twice. `open` begins one, `extend` appends what the world said, `start` asks for the policy's
next words, `step` draws one token for every slot that is generating, `close` gives the slot back. Slots join and
leave at any step.

1. What is queued is computed at the next `step` after `start`, for all slots together, packed without padding.
2. A prefix is computed once: an opened slot copies what any other slot, or a closed one, already has in common with it;
   of several new slots that begin alike, one computes and the others wait for its copy.
3. A draw depends on the slot's seed and the token's position only (see `sampling`), not on its neighbours.
4. New weights make all stored keys and values invalid: open slots compute their past again, once.

The engine does not know text, roles, tools or tasks: it sees ids, and a set of ids at which to stop. A slot that is
used wrongly raises; there is no policy mistake here that could be data.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from . import layout
from .decoder import Decoder
from .model import Apprentice
from .sampling import mix, sample, uniforms

Ints: TypeAlias = NDArray[np.int64]

SHARE_AT_LEAST: Final = 8
"""Common tokens below which copying a prefix is not worth waiting for."""

PREFILL_WIDTH: Final = 256
"""Most new tokens of one row in a pass."""

PREFILL_TOKENS: Final = 1024
"""Most new tokens of a pass, padding included: what is at work then stays near the processor."""


@dataclass(frozen=True)
class Generation:
    """What one slot said between `start` and its end."""

    slot: int
    ids: list[int]
    """The drawn tokens, the stop token included."""
    logprobs: list[float]
    """Of each token, under the distribution it was drawn from (at temperature 1 if greedy)."""
    finished: Literal["stop", "length"]
    """`length` when the allowance or the slot was used up first."""
    version: int
    """The version of the weights that drew the first token."""


class Engine:
    """A batch of live episodes on one copy of the weights.

    Example:
        >>> from makerspace.policy.config import TIERS
        >>> from makerspace.policy.engine import Engine
        >>> from makerspace.policy.model import Apprentice
        >>> engine = Engine(Apprentice(TIERS["nano"], seed=0), stop_ids=[6], slots=4, max_length=64)
        >>> slot = engine.open([1, 20, 30])
        >>> engine.start(slot, max_new_tokens=5)
        >>> [len(generation.ids) for generation in engine.run()]
        [5]
    """

    def __init__(
        self,
        model: Apprentice,
        stop_ids: Iterable[int],
        *,
        slots: int = 128,
        max_length: int = 1024,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        """Allocates the store and copies the weights; the model is not kept.

        Args:
            model: whose shape and weights to use.
            stop_ids: tokens that end a generation.
            slots: most episodes that are open at once.
            max_length: most tokens of an episode.
            temperature: default of `start`; 0 is greedy.
            seed: from which the seeds of slots follow that were opened without one.
        """
        device = model.model.embed_tokens.weight.device
        self.slots, self.max_length, self.temperature, self.seed = slots, max_length, temperature, seed
        self.version = 0
        self._decoder = Decoder(model.config, slots, max_length, device)
        self._decoder.load(model.state_dict())
        self._vocab, self._smear = model.config.vocab_size, model.config.smear
        self._stops = np.zeros(self._vocab, bool)
        self._stops[list(stop_ids)] = True
        self._table = _Table(slots, self._smear, max_length, self._vocab)
        self._regret = layout.Regret()
        self._row_of: dict[int, int] = {}
        self._opened = 0
        self._closed = 0

    def open(self, prefix_ids: Sequence[int], *, seed: int | None = None) -> int:
        """Begins an episode.

        Args:
            prefix_ids: its first tokens, at least one.
            seed: fixes every draw of the episode, wherever and beside whatever it runs.

        Returns:
            A handle that is never given twice.

        Raises:
            RuntimeError: all slots are open.
            ValueError: the prefix is empty, too long, or holds an id outside the vocabulary.
        """
        table = self._table
        free = np.flatnonzero(table.slot < 0)
        if not len(free):
            raise RuntimeError(f"all {self.slots} slots are open")
        ids = self._checked(prefix_ids, self.max_length)
        if not len(ids):
            raise ValueError("an episode begins with at least one token")
        common = table.common(ids[:-1], free)
        row = int(free[common.argmax()] if common.max() >= SHARE_AT_LEAST else free[table.closed[free].argmin()])
        slot = self._opened
        self._opened += 1
        self._row_of[slot] = row
        key = int(mix(np.array([slot], np.uint64) + np.uint64(self.seed % 2**63))[0]) if seed is None else seed
        table.open(row, slot, ids, key % 2**64, int(common[free == row][0]))
        return slot

    def extend(self, slot: int, ids: Sequence[int]) -> None:
        """Appends tokens to an episode that is not generating; they are computed when it next generates.

        Raises:
            KeyError: the slot is not open.
            RuntimeError: it is generating.
            ValueError: there is no room, or an id is outside the vocabulary.
        """
        row = self._idle(slot)
        self._table.append(row, self._checked(ids, self.room(slot)))

    def start(self, slot: int, max_new_tokens: int, *, temperature: float | None = None) -> None:
        """Lets an episode generate from the next `step` on.

        Args:
            slot: which.
            max_new_tokens: its allowance; it also ends when the slot is full.
            temperature: instead of the engine's own; 0 is greedy.

        Raises:
            KeyError: the slot is not open.
            RuntimeError: it is generating already.
            ValueError: it is full, or the allowance or the temperature makes no sense.
        """
        row = self._idle(slot)
        heat = self.temperature if temperature is None else temperature
        if max_new_tokens < 1 or not 0 <= heat < float("inf"):
            raise ValueError(f"cannot generate {max_new_tokens} tokens at temperature {heat}")
        if not self.room(slot):
            raise ValueError(f"slot {slot} is full: it holds {self.max_length} tokens")
        self._table.start(row, max_new_tokens, heat)

    def step(self) -> list[Generation]:
        """Computes what is queued, draws one token for each generating slot, and returns those that ended."""
        table = self._table
        if not table.live.any():
            return []
        self._prefill(np.flatnonzero(table.live))
        self._rearrange()
        rows = np.flatnonzero(table.live)
        places = table.length[rows] - 1
        logits = self._decoder.decode(table.windows(rows, places), rows, places, layout.blocks(rows))
        luck = torch.from_numpy(uniforms(table.seed[rows], table.length[rows])).to(logits.device)
        heats = torch.from_numpy(table.heat[rows]).to(logits.device)
        ids, logprobs = sample(logits, heats, luck)
        drawn = ids.cpu().numpy()
        table.draw(rows, drawn, logprobs.cpu().numpy(), self.version)
        ended = self._stops[drawn] | (table.length[rows] >= table.limit[rows])
        return [self._finish(int(row)) for row in rows[ended]]

    def run(self) -> Iterator[Generation]:
        """Steps until no slot generates, and yields each generation as it ends."""
        while self._table.live.any():
            yield from self.step()

    def close(self, slot: int) -> None:
        """Ends an episode, generating or not; its keys and values serve as a prefix until the row is used again.

        Raises:
            KeyError: the slot is not open.
        """
        row = self._row_of.pop(slot)
        self._closed += 1
        self._table.close(row, self._closed)

    def load_weights(self, state: Mapping[str, Tensor]) -> None:
        """Takes new weights (`Apprentice.state_dict()`) and raises `version` by one.

        Cached prefixes are dropped, and open slots compute their past anew with the new weights at the next step.
        """
        self._decoder.load(state)
        self._table.filled[:] = 0
        self._table.fresh[:] = True
        self.version += 1

    def tokens(self, slot: int) -> list[int]:
        """Returns all tokens of an open episode, in order."""
        row = self._row_of[slot]
        return self._table.ids(row, 0, int(self._table.length[row])).tolist()

    def room(self, slot: int) -> int:
        """Returns how many tokens still fit into an open episode."""
        return self.max_length - int(self._table.length[self._row_of[slot]])

    @property
    def open_slots(self) -> int:
        """Number of open episodes."""
        return len(self._row_of)

    @property
    def generating(self) -> int:
        """Number of episodes that the next `step` advances."""
        return int(self._table.live.sum())

    def _idle(self, slot: int) -> int:
        row = self._row_of[slot]
        if self._table.live[row]:
            raise RuntimeError(f"slot {slot} is generating")
        return row

    def _checked(self, ids: Sequence[int], room: int) -> Ints:
        array = np.asarray(ids, np.int64)
        if len(array) > room:
            raise ValueError(f"{len(array)} tokens do not fit: {room} are left of {self.max_length}")
        if len(array) and not 0 <= array.min() <= array.max() < self._vocab:
            raise ValueError(f"ids must be from 0 to {self._vocab - 1}")
        return array

    def _finish(self, row: int) -> Generation:
        table = self._table
        begin, end = int(table.begin[row]), int(table.length[row])
        ids = table.ids(row, begin, end).tolist()
        table.live[row] = False
        reason = "stop" if self._stops[ids[-1]] else "length"
        logprobs = table.logprobs[row, begin:end].tolist()
        return Generation(int(table.slot[row]), ids, logprobs, reason, int(table.version[row]))

    def _rearrange(self) -> None:
        """Moves rows when the layout has wasted more than the move costs."""
        table = self._table
        live = np.flatnonzero(table.live)
        if not self._regret.due(live, table.length[live]):
            return
        source = layout.arrangement(live, table.length[live], self.slots)
        moved = np.flatnonzero((source != np.arange(self.slots)) & (table.filled[source] > 0))
        if len(moved):
            self._decoder.copy_rows(source[moved], moved, int(table.filled[source[moved]].max()))
        table.permute(source)
        self._row_of = {int(slot): row for row, slot in enumerate(table.slot) if slot >= 0}

    def _prefill(self, rows: Ints) -> None:
        """Computes all but the last token of each row; rows that begin alike take turns and copy."""
        table = self._table
        while True:
            self._share(rows[table.fresh[rows]])
            rows = rows[table.filled[rows] < table.length[rows] - 1]
            if not len(rows):
                return
            waiting = self._followers(rows)
            ready = rows[~waiting]
            self._compute(ready)
            table.fresh[ready] = False
            rows = rows[waiting]

    def _share(self, rows: Ints) -> None:
        """Copies to each new row the longest prefix that any row has stored."""
        table, everywhere = self._table, np.arange(self.slots)
        copies: list[tuple[int, int, int]] = []
        for row in map(int, rows):
            common = table.common(table.ids(row, 0, int(table.length[row]) - 1), everywhere)
            best = int(common.argmax())
            if common[best] >= table.filled[row] + SHARE_AT_LEAST:
                copies.append((best, row, int(common[best])))
        if copies:
            sources, targets, lengths = np.array(copies).T
            self._decoder.copy_rows(sources, targets, int(lengths.max()))
            table.filled[targets] = lengths

    def _followers(self, rows: Ints) -> NDArray[np.bool_]:
        """Marks new rows whose next tokens another row of this pass is about to compute."""
        table, waiting = self._table, np.zeros(len(rows), bool)
        leaders = [int(row) for row in rows[~table.fresh[rows]]]
        for i in np.flatnonzero(table.fresh[rows]):
            row = int(rows[i])
            ids = table.ids(row, 0, int(table.length[row]) - 1)
            common = table.common(ids, np.array(leaders, np.int64), planned=True)
            waiting[i] = common.max(initial=0) >= table.filled[row] + SHARE_AT_LEAST
            if not waiting[i]:
                leaders.append(row)
        return waiting

    def _compute(self, rows: Ints) -> None:
        """Runs the model over queued tokens, in passes of rows with similar counts."""
        table = self._table
        while len(rows):
            part, counts = self._pass(rows)
            starts = table.filled[part]
            owners = np.repeat(part, counts)
            places = np.arange(len(owners)) + np.repeat(starts + counts - np.cumsum(counts), counts)
            self._decoder.prefill(table.windows(owners, places), part, starts, counts)
            table.filled[part] = starts + counts
            rows = rows[table.filled[rows] < table.length[rows] - 1]

    def _pass(self, rows: Ints) -> tuple[Ints, Ints]:
        """Chooses the rows of the next pass, and how many tokens of each: those without a past first, by count."""
        table = self._table
        empty = table.filled[rows] == 0
        rows = rows[empty] if empty.any() else rows
        counts = np.minimum(table.length[rows] - 1 - table.filled[rows], PREFILL_WIDTH)
        order = np.argsort(-counts, kind="stable")
        tokens = np.arange(1, len(rows) + 1) * counts[order[0]]
        order = order[: max(1, int((tokens <= PREFILL_TOKENS).sum()))]
        return rows[order], counts[order]


class _Table:
    """What the engine knows of each row of the store, as arrays over rows."""

    def __init__(self, rows: int, smear: int, max_length: int, blank: int) -> None:
        self._smear = smear
        # Ids, behind `smear` columns of `blank` that stand for "before the beginning".
        self._tokens = np.full((rows, smear + max_length), blank, np.int64)
        self.logprobs = np.zeros((rows, max_length), np.float32)
        self.length = np.zeros(rows, np.int64)  # tokens known
        self.filled = np.zeros(rows, np.int64)  # tokens whose keys and values are stored
        self.begin = np.zeros(rows, np.int64)  # where the present generation began
        self.limit = np.zeros(rows, np.int64)  # the length at which it ends
        self.slot = np.full(rows, -1, np.int64)  # who uses the row; -1 nobody
        self.closed = np.zeros(rows, np.int64)  # when the row was given back, counted in closings
        self.version = np.zeros(rows, np.int64)
        self.seed = np.zeros(rows, np.uint64)
        self.heat = np.ones(rows, np.float32)
        self.live = np.zeros(rows, bool)  # generating
        self.fresh = np.zeros(rows, bool)  # may still take over a prefix

    def open(self, row: int, slot: int, ids: Ints, seed: int, common: int) -> None:
        self.slot[row], self.seed[row], self.fresh[row] = slot, seed, True
        self.length[row], self.filled[row] = 0, common
        self.append(row, ids)

    def append(self, row: int, ids: Ints) -> None:
        begin = self._smear + self.length[row]
        self._tokens[row, begin : begin + len(ids)] = ids
        self.length[row] += len(ids)

    def start(self, row: int, allowance: int, heat: float) -> None:
        length = self.length[row]
        self.begin[row], self.live[row], self.heat[row] = length, True, heat
        self.limit[row] = min(length + allowance, self.logprobs.shape[1])

    def draw(self, rows: Ints, ids: Ints, logprobs: NDArray[np.float32], version: int) -> None:
        length = self.length[rows]
        self.version[rows[length == self.begin[rows]]] = version
        self._tokens[rows, self._smear + length] = ids
        self.logprobs[rows, length] = logprobs
        self.filled[rows] = length
        self.length[rows] = length + 1

    def close(self, row: int, moment: int) -> None:
        self.slot[row], self.closed[row], self.live[row] = -1, moment, False

    def ids(self, row: int, begin: int, end: int) -> Ints:
        return self._tokens[row, self._smear + begin : self._smear + end]

    def windows(self, rows: Ints, places: Ints) -> Ints:
        """Returns (N, smear + 1) ids: each place's token last, those before it ahead."""
        return self._tokens[rows[:, None], places[:, None] + np.arange(self._smear + 1)]

    def common(self, ids: Ints, rows: Ints, *, planned: bool = False) -> Ints:
        """Returns how many leading ids each of some rows has stored (or, if `planned`, will store next)."""
        same = self._tokens[rows, self._smear : self._smear + len(ids)] == ids
        leading = np.where(same.all(1), len(ids), same.argmin(1)) if len(ids) else np.zeros(len(rows), np.int64)
        return np.minimum(leading, self.length[rows] - 1 if planned else self.filled[rows])

    def permute(self, source: Ints) -> None:
        """Moves every row: place i takes what was at `source[i]`."""
        for name, array in vars(self).items():
            if isinstance(array, np.ndarray):
                setattr(self, name, array[source])
