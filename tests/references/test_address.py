"""Addresses are read strictly, and only allowed places are read from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderlayer.errors import BadRequest, ConfigurationError
from renderlayer.references.address import Address, Place, allowed_places, place_of
from renderlayer.settings import Settings

PLACE = Place("bucket", "references")


@given(name=st.text(min_size=1))
def test_every_name_has_an_address_that_reads_back(name: str) -> None:
    address = PLACE.address("f" * 32, name)
    assert Address.parse(str(address)) == address
    assert PLACE.holds(address)


def test_plain_names_stay() -> None:
    assert str(PLACE.address("f", "2b62")) == "s3://bucket/references/f/2b62"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s3://",
        "s3://bucket",
        "s3://bucket/",
        "s3://bucket/name",
        "s3://bucket/a//name",
        "s3://bucket/a/../name",
        "s3://bucket/a/./b/name",
        "s3://bucket/a/name/",
        "s3://bucket/a/na me",
        "s3://bucket/a/n%2e",
        "s3://bucket/a/b/..",
        "s3://Bucket/a/name",
        "s3://user@bucket/a/name",
        "s3:/bucket/a/name",
        "https://bucket/a/name",
        "s3://bucket/a/name\n",
    ],
)
def test_what_is_no_reference(text: str) -> None:
    with pytest.raises(BadRequest, match="has the form"):
        Address.parse(text)


@pytest.mark.parametrize(
    "text",
    ["s3://other/references/f/n", "s3://bucket/referencesx/f/n", "s3://bucket/f/n", "s3://bucket/x/references/f/n"],
)
def test_what_is_elsewhere(text: str) -> None:
    assert not PLACE.holds(Address.parse(text))


def test_where_may_be_read() -> None:
    own = Settings(reference_bucket="bucket", reference_prefix="/a/b/")
    assert allowed_places(own) == [place_of(own)] == [Place("bucket", "a/b")]
    listed = Settings(reference_bucket="bucket", reference_allowed=["one/a/b", "s3://two/c/", "three"])
    assert allowed_places(listed) == [Place("one", "a/b"), Place("two", "c"), Place("three", "")]
    assert allowed_places(listed)[2].holds(Address.parse("s3://three/f/n"))
    with pytest.raises(ConfigurationError, match="RENDERLAYER_REFERENCE_BUCKET"):
        allowed_places(Settings())
