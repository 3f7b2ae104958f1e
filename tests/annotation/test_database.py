from __future__ import annotations

import pytest

from benchwright.annotation.database import place_of, postgresql_settings
from benchwright.core.errors import BenchwrightError


def test_an_address_becomes_label_studios_variables_and_is_shown_without_its_password():
    settings = postgresql_settings("postgresql://ann%40team:p%2Fw@db.example.org:5433/labels")
    assert settings["POSTGRE_USER"] == "ann@team"
    assert settings["POSTGRE_PASSWORD"] == "p/w"
    assert place_of(settings) == "postgresql://ann@team@db.example.org:5433/labels"
    assert postgresql_settings("postgres://ann@db/labels")["POSTGRE_PORT"] == "5432"


@pytest.mark.parametrize(
    "address",
    ["", "labels", "mysql://a:s3cret@h/d", "postgresql://a:s3cret@h", "postgresql://h/d", "postgresql://a:s3cret@h:x/d",
     "postgresql://a:s3cret@h/d?sslmode=require", "postgresql://a:s3cret@[h/d"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_without_its_password(address):
    with pytest.raises(BenchwrightError, match="postgresql://USER:PASSWORD@HOST:PORT/NAME") as caught:
        postgresql_settings(address)
    assert "s3cret" not in str(caught.value)
