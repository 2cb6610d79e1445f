"""Lists: what is similar, recommended, popular, new or to be taken up again; each kind is a ranking of one view.

    requests ->  kinds -> ListRanking: entries, score and rank of any piece, why and why not
                   ^-- inputs: audience, person, counts, from storage and caches, or from the files of bulk work

Requests, reasons, previews, packages, bulk lists and evaluation all ask the same rankings.
"""
