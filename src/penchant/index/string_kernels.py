"""String kernels: how strings of one table are looked up in another one."""

from penchant.index.inlining import inlined


@inlined
def _compare(one, other):
    """Return -1, 0 or 1 as one string of bytes is before, equal to or after another."""
    for i in range(min(len(one), len(other))):
        if one[i] != other[i]:
            return -1 if one[i] < other[i] else 1
    return (len(one) > len(other)) - (len(one) < len(other))


def find(starts, text, wanted_starts, wanted_text, numbers, found):
    """Set found[i] to the number that string numbers[i] has in an ascending table, or to -1."""
    for i in range(len(numbers)):
        wanted = wanted_text[wanted_starts[numbers[i]] : wanted_starts[numbers[i] + 1]]
        # From the whole table each time: what is looked up need not ascend.
        low, high = 0, len(starts) - 1
        found[i] = -1
        while low < high:
            middle = (low + high) >> 1
            order = _compare(text[starts[middle] : starts[middle + 1]], wanted)
            if order == 0:
                found[i] = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
