"""Latencies counted in the buckets of an HdrHistogram, as recordings hold them.

Times are integer nanoseconds. A bucket is less than 1 % wide; count, minimum, maximum and sum are exact.

The encoding is HdrHistogram's V2 without compression:
<https://github.com/HdrHistogram/HdrHistogram/blob/master/src/main/java/org/HdrHistogram/AbstractHistogram.java>,
`encodeIntoByteBuffer`.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import sys
import zlib
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple

from howlate.errors import HowlateError

#: Latencies above an hour count in the bucket of an hour; the exact maximum is kept beside them.
HIGHEST_TRACKED = 3_600_000_000_000

_PLAIN, _COMPRESSED = 0x1C84_9313, 0x1C84_9314
_HEAD = struct.Struct(">IIIIqqd")  # cookie, length, offset, digits, lowest, highest, ratio
_DIGITS = 2
#: log2 of the buckets per doubling that two digits make.
_HALF_BITS = 7
#: Values below this have a bucket each.
_LINEAR = 2 << _HALF_BITS


@dataclass(frozen=True)
class Bucket:
    """One bucket that is not empty; nanoseconds."""

    lowest: int
    highest: int
    count: int


def _range(index: int) -> Tuple[int, int]:
    """The smallest and the largest value of a bucket."""
    shift = max((index >> _HALF_BITS) - 1, 0)
    lowest = (index - (shift << _HALF_BITS)) << shift
    return lowest, lowest + (1 << shift) - 1


def _index(value: int) -> int:
    """The bucket of a value."""
    shift = (value | (_LINEAR - 1)).bit_length() - _LINEAR.bit_length() + 1
    return (shift << _HALF_BITS) + (value >> shift)


@dataclass
class Histogram:
    """Latencies in log-linear buckets, with exact count, minimum, maximum and sum in nanoseconds."""

    count: int = 0
    min_ns: int = sys.maxsize
    max_ns: int = -sys.maxsize
    sum_ns: int = 0
    #: Latencies below zero, which count at 0.
    early: int = 0
    _counts: Dict[int, int] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Histogram:
        """A distribution as a recording has it. Raises `HowlateError` where it is damaged."""
        histogram = cls(early=stored.get("early", 0))
        histogram._counts = _decoded(stored["hdr"])
        histogram.count, histogram.sum_ns = stored["count"], stored["sum_ns"]
        if histogram.count:
            histogram.min_ns, histogram.max_ns = stored["min_ns"], stored["max_ns"]
        if sum(histogram._counts.values()) != histogram.count:
            raise HowlateError("a distribution of the recording is damaged: its buckets are not as many as its count")
        return histogram

    def to_json(self) -> Dict[str, Any]:
        """The distribution as in a recording's JSON."""
        stored: Dict[str, Any] = {"count": self.count}
        if self.count:
            stored.update(min_ns=self.min_ns, max_ns=self.max_ns)
        stored["sum_ns"] = self.sum_ns
        if self.early:
            stored["early"] = self.early
        stored["hdr"] = _encoded(self._counts, min(max(self.max_ns, 2), HIGHEST_TRACKED))
        return stored

    def record(self, latency_ns: int, count: int = 1) -> None:
        """Counts a latency in nanoseconds, so many times."""
        index = _index(min(max(latency_ns, 0), HIGHEST_TRACKED))
        self._counts[index] = self._counts.get(index, 0) + count
        self.count += count
        self.min_ns, self.max_ns = min(self.min_ns, latency_ns), max(self.max_ns, latency_ns)
        self.sum_ns += latency_ns * count
        self.early += count if latency_ns < 0 else 0

    def merge(self, other: Histogram) -> None:
        """Counts all of another too; nothing is lost."""
        counts = self._counts
        for index, count in other._counts.items():
            counts[index] = counts.get(index, 0) + count
        self.count += other.count
        self.min_ns, self.max_ns = min(self.min_ns, other.min_ns), max(self.max_ns, other.max_ns)
        self.sum_ns += other.sum_ns
        self.early += other.early

    @classmethod
    def merged(cls, parts: Iterable[Histogram]) -> Histogram:
        """All of them as one."""
        whole = cls()
        for part in parts:
            whole.merge(part)
        return whole

    def buckets(self) -> Iterator[Bucket]:
        """The buckets that are not empty, ascending."""
        for index in sorted(self._counts):
            yield Bucket(*_range(index), self._counts[index])

    def quantile(self, quantile: float) -> Optional[int]:
        """The smallest latency in nanoseconds that a share (0 to 1) of all do not exceed, within 1 %; `None` of nothing."""
        if not 0 <= quantile <= 1:
            raise ValueError(f"a quantile is between 0 and 1, such as 0.99, and not {quantile!r}")
        # Less what the product may be off by, so that 0.07 of 100 is rank 7 and not 8.
        rank = math.ceil(quantile * self.count * (1.0 - 4.0 * sys.float_info.epsilon))
        if rank >= self.count:
            return self.max_ns if self.count else None
        below = 0
        for bucket in self.buckets():
            below += bucket.count
            if below >= rank:
                return min(max(bucket.highest, self.min_ns), self.max_ns)
        return None

    def percentile(self, percent: float) -> Optional[int]:
        """The quantile by percent: `percentile(99.9)`."""
        return self.quantile(percent / 100)

    @property
    def mean_ns(self) -> Optional[float]:
        """The mean, from the exact sum; `None` of nothing."""
        return self.sum_ns / self.count if self.count else None

    @property
    def stddev_ns(self) -> Optional[float]:
        """The standard deviation, from the middles of the buckets; `None` of nothing."""
        mean = self.mean_ns
        if mean is None:
            return None
        middles = ((bucket.lowest + (bucket.highest - bucket.lowest) // 2, bucket.count) for bucket in self.buckets())
        # In the order and the operations of the program, so that the last digit is the same.
        squares = 0.0
        for middle, count in middles:
            squares += (middle - mean) * (middle - mean) * count
        return math.sqrt(squares / self.count)

    def summary(self) -> Optional[Dict[str, float]]:
        """The numbers by the names that results have: `min`, `mean`, `stddev`, `p50`, …, `p99.99`, `max`; nanoseconds."""
        mean, deviation = self.mean_ns, self.stddev_ns
        if mean is None or deviation is None:
            return None
        numbers: Dict[str, float] = {"min": self.min_ns, "mean": _tenths(mean), "stddev": _tenths(deviation)}
        for name, quantile in QUANTILES.items():
            numbers[name] = self.quantile(quantile) or 0
        numbers["max"] = self.max_ns
        return numbers


#: The percentiles of results by name.
QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}


def _tenths(nanos: float) -> float:
    """To a tenth of a nanosecond, half away from zero."""
    return math.copysign(math.floor(abs(nanos) * 10 + 0.5), nanos) / 10


def _decoded(text: str) -> Dict[int, int]:
    """The counts by bucket."""
    try:
        data = base64.b64decode(text, validate=True)
        if len(data) >= 8 and struct.unpack_from(">I", data)[0] == _COMPRESSED:
            data = zlib.decompress(data[8:])
        cookie, length, offset, digits, lowest, _, ratio = _HEAD.unpack_from(data)
    except (binascii.Error, struct.error, zlib.error) as error:
        raise HowlateError(f"a distribution of the recording is damaged: {error}") from error
    if cookie != _PLAIN or (offset, digits, lowest, ratio) != (0, _DIGITS, 1, 1.0):
        raise HowlateError("a distribution of the recording has an encoding that this package does not know")
    encoded = data[_HEAD.size : _HEAD.size + length]
    if len(encoded) != length:
        raise HowlateError("a distribution of the recording is damaged: it is cut off")
    return _counts_of(encoded)


def _counts_of(encoded: bytes) -> Dict[int, int]:
    """ZigZag LEB128: a count, or below zero a number of empty buckets."""
    counts: Dict[int, int] = {}
    index = word = shift = 0
    for byte in encoded:
        if shift == 56:  # the ninth byte has eight bits
            word |= byte << 56
        elif byte & 0x80:
            word |= (byte & 0x7F) << shift
            shift += 7
            continue
        else:
            word |= byte << shift
        if word & 1:
            index += (word >> 1) + 1
        else:
            if word:
                counts[index] = word >> 1
            index += 1
        word = shift = 0
    if shift:
        raise HowlateError("a distribution of the recording is damaged: it is cut off")
    return counts


def _encoded(counts: Mapping[int, int], highest: int) -> str:
    encoded = bytearray()
    index = 0
    for at in sorted(counts):
        if at > index:  # one empty bucket is a count of none, several are their number below zero
            encoded += _word(0 if at == index + 1 else index - at)
        encoded += _word(counts[at])
        index = at + 1
    head = _HEAD.pack(_PLAIN, len(encoded), 0, _DIGITS, 1, highest, 1.0)
    return base64.b64encode(head + bytes(encoded)).decode("ascii")


def _word(value: int) -> bytes:
    word = value << 1 if value >= 0 else (-value << 1) - 1
    out: List[int] = []
    while word >= 0x80 and len(out) < 8:
        out.append(word & 0x7F | 0x80)
        word >>= 7
    out.append(word)
    return bytes(out)
