"""The signature, against botocore's."""

from __future__ import annotations

from datetime import UTC, datetime
from unittest.mock import patch

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from hypothesis import given
from hypothesis import strategies as st

from renderlayer.secrets.signature import Credentials, signed

NOW = 1_796_000_000
TEXT = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)


@given(body=st.binary(max_size=60), secret=TEXT, token=st.one_of(st.just(""), TEXT))
def test_it_is_botocores(body: bytes, secret: str, token: str) -> None:
    headers = {"Host": "secretsmanager.eu-central-1.amazonaws.com", "X-Amz-Target": "secretsmanager.GetSecretValue"}
    request = AWSRequest(
        "POST", f"https://{headers['Host']}/", data=body, headers={"X-Amz-Target": headers["X-Amz-Target"]}
    )
    moment = datetime.fromtimestamp(NOW, UTC)
    with patch("botocore.auth.get_current_datetime", return_value=moment.replace(tzinfo=None)):
        SigV4Auth(BotoCredentials("AKID", secret, token or None), "secretsmanager", "eu-central-1").add_auth(request)
    ours = signed(headers, body, "eu-central-1", "secretsmanager", Credentials("AKID", secret, token), NOW)
    assert ours["Authorization"] == request.headers["Authorization"]
    assert ours["X-Amz-Date"] == request.headers["X-Amz-Date"]
