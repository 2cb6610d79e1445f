"""Compiled kernels: what searches and weighs fast, how it is compiled and called, and the same in numpy."""
