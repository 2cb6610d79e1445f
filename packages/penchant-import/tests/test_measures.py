"""Measures: which values are numbers, prices, amounts and sizes, that join nothing that is alike."""

import pytest

from penchant_import.measures import is_measure, is_number


@pytest.mark.parametrize(
    "text",
    ("76", "9.90", "9,90 €", "$1,200.00", "EUR 5", '5" x 7.2"', "10 x 20 cm", "12oz", "500 ml", "36-38", "XL", "3XL",
     "One Size", "1/2", "6'", "100%"),
)  # fmt: skip
def test_numbers_prices_amounts_and_sizes_are_measures(text: str) -> None:
    assert is_measure(text)


@pytest.mark.parametrize("text", ("Red", "Oak 2", "iPhone 12", "Medium roast", "x", "", "12 angry men", "2pac album"))
def test_other_values_are_none(text: str) -> None:
    assert not is_measure(text)


@pytest.mark.parametrize(("text", "expected"), (("1984", True), ("9.90 €", True), ("80s", False), ("3d", False)))
def test_a_number_has_no_unit(text: str, expected: bool) -> None:  # noqa: FBT001  # a parameter of the test
    assert is_number(text) is expected


@pytest.mark.parametrize("part", ("1", "1 ", "/", "1/", "1x", "1 - ", "'"))
def test_values_of_any_form_are_judged_at_once(part: str) -> None:
    assert not is_measure((part * 40)[:39] + "!")
    assert not is_measure(part * 10_000)
