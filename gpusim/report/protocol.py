"""The conditions under which a time is taken, in words."""

#: option -> value -> what it means
MEANING = {
    "l2": {
        "cold": "L2 empty and clean",
        "foreign-clean": "L2 full of another kernel's clean lines",
        "foreign-dirty": "L2 full of another kernel's dirty lines",
        "warm": "L2 as an identical launch left it",
    },
    "data": {"random": "data whose bits toggle at random", "zeros": "data of zeros"},
    "launch": {"out": "without launch overhead", "in": "with launch overhead"},
}
#: word for a clock under load -> what it means
CLOCK_MEANING = {
    "load": "the clock that one launch gets under its own load",
    "sustained": "the clock of this launch repeated for seconds, the power limit included",
}
#: words for a clock that can be asked for; "boost" is the highest that such a launch can have
CLOCKS = ("boost", "load", "sustained")
#: the L2 of a launch in a program, as reports say it; nobody can ask for it
KEPT = "kept"
#: value of l2 in a report -> what it means
L2_MEANING = MEANING["l2"] | {KEPT: "L2 as the launches before left it"}
