"""The Fourier transform of 400 real numbers, rounded as MKL rounds it in single precision on Intel's AVX-512.

Whisper's extractor and its kin take it of every 25 ms of sound, and what they hear of quiet tones is in its last bits.
Even and odd samples are one complex sequence of 200 = 5 · 5 · 8 numbers; the last step takes them apart. Every
multiplication that is followed by an addition is fused with it. The factors of the last two steps are not the nearest
float32 numbers, so they stand here as they show in the transforms of single impulses.
"""

from __future__ import annotations

from base64 import b64decode
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from renderlayer.multimodal.audio.fused import fused

Floats = NDArray[np.float32]
Pair = tuple[Floats, Floats]  # real and imaginary part

LENGTH = 400
_HALF = LENGTH // 2
_FIFTH = 2 * np.pi / 5
_ROOT = np.float32(np.sqrt(5) / 4)
_SINE = np.float32(np.sin(_FIFTH))
_SUM, _GAP = np.float32(np.sin(_FIFTH) + np.sin(2 * _FIFTH)), np.float32(np.sin(2 * _FIFTH) - np.sin(_FIFTH))
_DIAGONAL = np.float32(np.sqrt(0.5))


def transform(frames: Floats) -> Pair:
    """Of each frame (frames, 400) the coefficients of the 201 frequencies, (201, frames)."""
    lines = np.ascontiguousarray(frames.T)
    real, imaginary = (lines[part::2].reshape(5, 5, 8, -1) for part in (0, 1))
    first = times(_fives((real, imaginary)), *_inner())  # (k1, b, r)
    second = _fives((first[0].swapaxes(0, 1), first[1].swapaxes(0, 1)))  # (k2, k1, r)
    turned = times((second[0].reshape(25, 8, -1), second[1].reshape(25, 8, -1)), *_outer())
    whole = eights((turned[0].swapaxes(0, 1), turned[1].swapaxes(0, 1)))
    return apart((whole[0].reshape(_HALF, -1), whole[1].reshape(_HALF, -1)), *_last())


def times(values: Pair, real: Floats, imaginary: Floats) -> Pair:
    """The complex product."""
    (x, y), (c, s) = values, (real, imaginary)
    return fused(x, c, -(y * s)), fused(y, c, x * s)


def _fives(values: Pair) -> Pair:
    """Transforms of five, along the first axis."""
    out = tuple(np.empty_like(part) for part in values)
    ways = [_five(part) for part in values]
    for part, (total, near, far, *_), sign in zip(out, ways, (1, -1), strict=True):
        _, _, _, other, another = ways[1 if sign > 0 else 0]
        part[0] = total
        part[1], part[4] = (near + other, near - other) if sign > 0 else (near - other, near + other)
        part[2], part[3] = (far + another, far - another) if sign > 0 else (far - another, far + another)
    return out[0], out[1]


def _five(x: Floats) -> tuple[Floats, ...]:
    """Of five numbers their sum, the two even combinations and the two odd ones."""
    outer, inner, left, right = x[1] + x[4], x[2] + x[3], x[1] - x[4], x[2] - x[3]
    both, across, turn = outer + inner, outer - inner, left - right
    total = x[0] + both
    middle = fused(both, np.float32(-1.25), total)
    return (
        total,
        fused(across, _ROOT, middle),
        fused(across, -_ROOT, middle),
        fused(turn, _SINE, _SUM * right),
        fused(turn, _SINE, _GAP * left),
    )


def eights(values: Pair) -> Pair:
    """Transforms of eight, along the first axis."""
    sums = [part[:4] + part[4:] for part in values]
    gaps = [part[:4] - part[4:] for part in values]
    out = tuple(np.empty((8, *part.shape[1:]), np.float32) for part in values)
    for way, (mine, other, sign) in enumerate(((0, 1, 1), (1, 0, -1))):
        a, b, c, d = sums[mine]
        out[way][0], out[way][4] = (a + c) + (b + d), (a + c) - (b + d)
        turned = sums[other][1] - sums[other][3]
        out[way][2], out[way][6] = ((a - c) + sign * turned, (a - c) - sign * turned)
        straight, steep = gaps[mine][1] - gaps[mine][3], gaps[other][1] + gaps[other][3]
        for diagonal, (lower, upper) in ((_DIAGONAL, (1, 7)), (-_DIAGONAL, (5, 3))):
            along = fused(straight, diagonal, gaps[mine][0])
            beside = fused(steep, diagonal, gaps[other][2])
            out[way][lower], out[way][upper] = along + sign * beside, along - sign * beside
    return out[0], out[1]


def apart(whole: Pair, cosines: Floats, sines: Floats) -> Pair:
    """The transform of twice as many real numbers from that of their pairs.

    Args:
        whole: (half, frames) each; half is divisible by four.
        cosines, sines: cosines and negative sines of 1 to half / 2 - 1 parts of a turn in 2 · half, as columns.
    """
    count = len(whole[0])
    middle = count // 2
    real, imaginary = (np.zeros((count + 1, part.shape[1]), np.float32) for part in whole)
    low, high = slice(1, middle), slice(count - 1, middle, -1)
    (x, y), half = whole, np.float32(0.5)
    real[0], real[count] = x[0] + y[0], x[0] - y[0]
    real[middle], imaginary[middle] = x[middle], -y[middle]
    plus, minus, gap, both = x[low] + x[high], y[low] - y[high], x[low] - x[high], y[low] + y[high]
    real[low] = half * fused(both, cosines, fused(gap, sines, plus))
    imaginary[low] = half * fused(gap, -cosines, fused(both, sines, minus))
    real[high] = half * fused(gap, -sines, fused(both, -cosines, plus))
    imaginary[high] = half * fused(both, sines, fused(gap, -cosines, -minus))
    return real, imaginary


@lru_cache(maxsize=1)
def _inner() -> Pair:
    """Factors between the two transforms of five, (5, 5, 1, 1)."""
    turns = np.exp(-2j * np.pi * np.outer(np.arange(5), np.arange(5)) / 25)[..., None, None]
    return turns.real.astype(np.float32), turns.imag.astype(np.float32)


@lru_cache(maxsize=1)
def _outer() -> Pair:
    """Factors before the transform of eight, (25, 8, 1)."""
    turns = np.ones((8, 25), np.complex64)
    turns[1:, 1:] = np.frombuffer(b64decode(_TURNS), "<c8").reshape(7, 24)
    return np.ascontiguousarray(turns.real.T[..., None]), np.ascontiguousarray(turns.imag.T[..., None])


@lru_cache(maxsize=1)
def _last() -> Pair:
    """Cosines and negative sines of 1 to 99 four-hundredths of a turn, (99, 1) each."""
    table = np.frombuffer(b64decode(_QUARTER), "<f4").reshape(99, 2)
    return np.ascontiguousarray(table[:, :1]), np.ascontiguousarray(table[:, 1:])


_TURNS = (
    "qd9/P5GoAL2ufn8/UZiAvSbdfj/cu8C9O/t9P1tXAL4l2Xw/WzAgvi13ez/j4D++rtV5P/FgX74R9Xc/j6h+vs/VdT/s146+cXhzP3o3nr6Q3XA/"
    "Dm+tvtUFbj/Sery++PFqP/dWy76/omc/vv/ZvgEZZD9ycei+o1VgP2uo9r6XWVw/ilACv+AlWD/yKwm/jrtTP7LkD7+9G08/GHkWv5pHSj965xy/"
    "W0BFPzguI79HB0A/vEspv7CdOj96Pi+/rn5/P1GYgL07+30/W1cAvi13ez/j4D++EfV3P4+ofr5xeHM/ejeevtUFbj/Sery+v6JnP77/2b6jVWA/"
    "a6j2vuAlWD/yKwm/vRtPPxh5Fr9bQEU/OC4jv7CdOj96Pi+/ez4vP7CdOr84LiM/W0BFvxh5Fj+9G0+/8isJP+AlWL9rqPY+o1Vgv73/2T6/ome/"
    "03q8PtUFbr95N54+cXhzv5Kofj4R9Xe/5OA/Pi13e79ZVwA+O/t9v1WYgD2ufn+/Jt1+P9y7wL0td3s/4+A/vs/VdT/s146+1QVuP9J6vL4BGWQ/"
    "cnHovuAlWD/yKwm/mkdKP3rnHL+wnTo/ej4vv7xLKT9IB0C/GHkWP70bT7+JUAI/l1lcv73/2T6/ome/EG+tPpDdcL+SqH4+EfV3v14wID4l2Xy/"
    "VZiAPa5+f7+JqAC9qd9/v19XAL46+32/8GBfvq7Veb98N56+cHhzv/dWy7748Wq/baj2vqJVYL+y5A+/jrtTvzkuI79aQEW/O/t9P1tXAL4R9Xc/"
    "j6h+vtUFbj/Sery+o1VgP2uo9r69G08/GHkWv7CdOj96Pi+/OC4jP1tARb/yKwk/4CVYv73/2T6/ome/eTeePnF4c7/k4D8+LXd7v1WYgD2ufn+/"
    "SZiAva5+f7/k4D++LXd7v3w3nr5weHO/vf/Zvr+iZ7/yKwm/4CVYvzkuI79aQEW/sJ06v3s+L7+9G0+/GHkWv6JVYL9tqPa+1QVuv9N6vL4R9Xe/"
    "jKh+vjr7fb9fVwC+Jdl8P1swIL5xeHM/ejeevgEZZD9ycei+vRtPPxh5Fr/zBDU/8wQ1vxh5Fj+9G0+/cnHoPgEZZL95N54+cXhzv14wID4l2Xy/"
    "AAAAAAAAgL9eMCC+Jdl8v3w3nr5weHO/b3HovgEZZL8YeRa/vRtPv/MENb/zBDW/vRtPvxh5Fr8BGWS/b3HovnB4c798N56+Jdl8v14wIL4AAIC/"
    "AAAAACXZfL9RMCA+cHhzv3w3nj4BGWS/b3HoPrsbT78aeRY/LXd7P+PgP77VBW4/0nq8vuAlWD/yKwm/sJ06P3o+L78YeRY/vRtPv73/2T6/ome/"
    "kqh+PhH1d79VmIA9rn5/v19XAL46+32/fDeevnB4c79tqPa+olVgvzkuI79aQEW/WkBFvzkuI7+iVWC/baj2vnB4c798N56+Ovt9v19XAL6ufn+/"
    "SZiAPRD1d7+ZqH4+v6Jnv73/2T67G0+/GnkWP3s+L7+wnTo/8CsJv+ElWD/Tery+1QVuP9fgP74ud3s/rtV5P/FgX76/omc/vv/ZvppHSj965xy/"
    "OC4jP1tARb9yceg+ARlkv5Kofj4R9Xe/iagAPanff7/k4D++LXd7v/dWy7748Wq/GHkWv70bT79HB0C/vUspv6JVYL9tqPa+z9V1v+nXjr6ufn+/"
    "SZiAvSXZfL9RMCA+1QVuv9N6vD6Mu1O/teQPP3s+L7+wnTo/iFACv5hZXD98N56+cHhzP9C7wL0m3X4/U1cAPjv7fT8Qb60+kN1wP/ArCT/hJVg/"
)
_QUARTER = (
    "6vd/P6KsgLyp338/kagAvT+3fz+x8kC9rn5/P1GYgL35NX8/Kq+gvSbdfj/cu8C9OnR+P2K84L07+30/W1cAvjFyfT9qSBC+Jdl8P1swIL4gMHw/"
    "Lw4wvi13ez/j4D++Wa56P3mnT76u1Xk/8WBfvjzteD9ODG++EfV3P4+ofr487XY/XhqHvs/VdT/s146+2q50P3SMlr5xeHM/ejeevqYycj+B2KW+"
    "kN1wPw5vrb5DeW8/qPq0vtUFbj/Sery+XoNsPxXvw7748Wo/91bLvrpRaT8DstK+v6JnP77/2b4j5WU/tT/hvgEZZD9ycei+dz5iP3+U776jVWA/"
    "a6j2vqJeXj/DrP2+l1lcP4pQAr+gRlo/d8IFv+AlWD/yKwm/efdVP8OMDL+Ou1M/suQPv0NyUT+LMxO/vRtPPxh5Fr8iuEw/JLUZv5pHSj965xy/"
    "ScpHP+cPIL9bQEU/OC4jv/epQj86Qia/RwdAP7xLKb93WD0/jEosv7CdOj96Pi+/INc3P1cnMr/zBDU/8wQ1v1cnMj8g1ze/ez4vP7CdOr+NSiw/"
    "dlg9v7xLKT9IB0C/OkImP/epQr84LiM/W0BFv+cPID9Jyke/euccP5lHSr8ktRk/IrhMvxh5Fj+9G0+/izMTP0NyUb+y5A8/jrtTv8OMDD9591W/"
    "8isJP+AlWL94wgU/oEZav4lQAj+XWVy/waz9PqNeXr9rqPY+o1Vgv3+U7z53PmK/cnHoPgEZZL+2P+E+IuVlv73/2T6/ome/ArLSPrpRab/3Vss+"
    "+PFqvxXvwz5eg2y/03q8PtUFbr+p+rQ+QnlvvxBvrT6Q3XC/gNilPqcycr95N54+cXhzv3SMlj7arnS/7NeOPs/Vdb9fGoc+PO12v5Kofj4R9Xe/"
    "SwxvPjzteL/wYF8+rtV5v3mnTz5Zrnq/5OA/Pi13e78wDjA+IDB8v14wID4l2Xy/Z0gQPjFyfb9ZVwA+O/t9v2C84D06dH6/3LvAPSbdfr8sr6A9"
    "+TV/v1WYgD2ufn+/pvJAPT+3f7+JqAA9qd9/v5qsgDzq93+/"
)
