"""Bulk work: what is done over everybody, from files of one version of a source, by any number of processes."""
