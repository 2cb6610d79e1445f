"""Which number has a term? Grow-only, so that a snapshot taken earlier stays right."""

from penchant.model import Term


class Vocabulary:
    """Numbers terms and their categories in the order of their first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[Term, int] = {}
        self._categories: dict[str, int] = {}
        self.terms: list[Term] = []
        self.category_names: list[str] = []
        self.category_of: list[int] = []

    def number(self, term: Term) -> int | None:
        """Return the number of a term, or ``None`` if no piece ever had it."""
        return self._numbers.get(term)

    def add(self, term: Term) -> int:
        """Return the number of a term, which is given one if it has none."""
        number = self._numbers.get(term)
        if number is None:
            number = len(self.terms)
            # The lists first: a reader that finds the number finds the rest too.
            self.terms.append(term)
            self.category_of.append(self._category(term.category))
            self._numbers[term] = number
        return number

    def _category(self, name: str) -> int:
        number = self._categories.get(name)
        if number is None:
            number = len(self.category_names)
            self.category_names.append(name)
            self._categories[name] = number
        return number
