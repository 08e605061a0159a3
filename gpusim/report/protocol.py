"""The conditions under which a time is taken, in words."""

#: option -> value -> what it means
MEANING = {
    "l2": {"cold": "L2 empty and clean", "foreign-dirty": "L2 full of another kernel's dirty lines", "warm": "L2 holds the arrays, as far as they fit"},
    "launch": {"out": "without launch overhead", "in": "with launch overhead"},
}
