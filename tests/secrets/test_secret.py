"""Secrets, out of moto's Secrets Manager: read, kept, read again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from renderlayer.errors import Unavailable
from renderlayer.secrets.secret import Secret, read_secret, texts

REGION = "eu-central-1"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    yield boto3.client("secretsmanager", region_name=REGION)
    server.stop()


def test_a_secret_is_read_with_and_without_boto3(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    arn = client.create_secret(Name="keys", SecretString="first,second")["ARN"]
    assert read_secret(arn) == "first,second"
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", __file__)
    with pytest.raises(Unavailable):
        read_secret(arn)


def test_a_secret_that_is_not_there_is_unavailable_and_its_name_stays_out(client: Any) -> None:
    with pytest.raises(Unavailable) as raised:
        read_secret(f"arn:aws:secretsmanager:{REGION}:123456789012:secret:private-AbCdEf")
    assert "private" not in str(raised.value)


def test_a_rotated_secret_is_read_again(client: Any) -> None:
    arn = client.create_secret(Name="rotated", SecretString="old")["ARN"]
    secret = Secret(arn)
    assert secret.texts() == ["old"]
    client.put_secret_value(SecretId=arn, SecretString="new, old")
    assert secret.texts() == ["old"]
    assert secret.texts(oldest=0) == ["new", "old"]


def test_what_was_read_stays_valid_while_it_cannot_be_read_again() -> None:
    answers = iter(["one"])

    def read(arn: str) -> str:
        try:
            return next(answers)
        except StopIteration:
            raise Unavailable("down") from None

    secret = Secret("arn", read)
    assert secret.texts(0) == ["one"]
    assert secret.texts(0) == ["one"]


@pytest.mark.parametrize("held", ["", " , \n", "{}", "[1]"])
def test_an_empty_secret_lets_nobody_in(held: str) -> None:
    with pytest.raises(Unavailable):
        Secret("arn", lambda arn: held).texts()


@pytest.mark.parametrize("held", ["a,b", " a , b ", "a\nb\n", '{"first": "a", "second": "b"}', '["a", "b"]'])
def test_forms_of_a_secret(held: str) -> None:
    assert texts(held) == ["a", "b"]
