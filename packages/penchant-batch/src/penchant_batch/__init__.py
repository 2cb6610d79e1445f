"""penchant_batch: lists of everybody, cut into ranges, and the people whom a piece would suit most.

    WorkPlan --ranges--> Executor --parts, in any order--> WorkFolder --> one output

A range is done by a pure function of the plan's files and of where the range begins and ends. So it does not matter who
does it, nor how often: the output is the same bytes.
"""

__version__ = "0.2.0"
