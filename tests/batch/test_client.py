"""OpenAI's official client against the local gateway, with the functions of batches behind it."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import openai
import pytest

from tests.batch.conftest import Deployed
from tests.batch.gateways import consumers

RENDER = "/v1/chat/completions/render"


def request(number: int, **body: Any) -> str:
    chat = {"model": "small", "messages": [{"role": "user", "content": f"Line {number}"}], **body}
    return json.dumps({"custom_id": f"r-{number}", "method": "POST", "url": RENDER, "body": chat})


def ended(client: openai.OpenAI, batch_id: str) -> Any:
    for _ in range(600):
        batch = client.batches.retrieve(batch_id)
        if batch.status in ("completed", "failed", "expired", "cancelled"):
            return batch
        threading.Event().wait(0.1)
    pytest.fail(f"the batch is {batch.status} still")


def create(client: openai.OpenAI, file_id: str, **fields: Any) -> Any:
    given: dict[str, Any] = {"endpoint": RENDER, "completion_window": "24h", "input_file_id": file_id, **fields}
    return client.batches.create(**given)


@pytest.mark.long
def test_a_batch_from_upload_to_results(deployed: Deployed, server: Any) -> None:
    client = deployed.client
    text = "\n".join([*(request(number) for number in range(400)), request(7), request(400, model="other")])
    file = client.files.create(file=("requests é.jsonl", text.encode()), purpose="batch")
    assert (file.filename, file.bytes, file.purpose) == ("requests é.jsonl", len(text), "batch")
    assert client.files.content(file.id).read() == text.encode()
    batch = create(client, file.id, metadata={"run": "1"})
    assert (batch.status, batch.metadata) == ("validating", {"run": "1"})
    environment = {"RENDERLAYER_MODEL": server.settings.model, "RENDERLAYER_SERVED_MODEL_NAME": "small"}
    with consumers(deployed.cloud, environment):
        batch = ended(client, batch.id)
    assert batch.status == "completed"
    assert batch.request_counts.to_dict() == {"total": 402, "completed": 400, "failed": 2}
    output = client.files.content(batch.output_file_id)  # larger than a function's answer: a link
    assert len(output.content) > 300_000
    rows = [json.loads(line) for line in output.text.splitlines()]
    assert [row["custom_id"] for row in rows] == [f"r-{number}" for number in range(400)]
    assert all(row["response"]["body"]["token_ids"] for row in rows)
    errors = [json.loads(line) for line in client.files.content(batch.error_file_id).text.splitlines()]
    assert errors[0]["error"]["code"] == "duplicate_custom_id"
    assert errors[1]["response"]["status_code"] == 404
    assert client.files.retrieve(batch.output_file_id).purpose == "batch_output"


def test_lists_cancelling_and_removing(deployed: Deployed) -> None:
    client = deployed.client
    files = [client.files.create(file=(f"{number}.jsonl", b"{}"), purpose="batch") for number in range(3)]
    batches = [create(client, file.id) for file in files]
    assert {batch.id for batch in client.batches.list(limit=2)} == {batch.id for batch in batches}  # by pages
    assert client.batches.cancel(batches[0].id).status == "cancelling"
    assert client.files.delete(files[0].id).deleted
    assert {file.id for file in client.files.list(limit=1)} == {file.id for file in files[1:]}


def test_what_is_refused(deployed: Deployed) -> None:
    client = deployed.client
    file = client.files.create(file=("f.jsonl", b"{}"), purpose="batch")
    with pytest.raises(openai.BadRequestError, match="purpose"):
        client.files.create(file=("f.jsonl", b"{}"), purpose="assistants")
    for fields in ({"endpoint": "/v1/embeddings"}, {"completion_window": "soon"}, {"metadata": {"a": 1}}):
        with pytest.raises(openai.BadRequestError, match=next(iter(fields))):
            create(client, file.id, **fields)
    for metadata in ({"a": "x" * 513}, {"a" * 65: "x"}, {str(number): "x" for number in range(17)}):
        with pytest.raises(openai.BadRequestError, match="metadata"):
            create(client, file.id, metadata=metadata)
    order = {"endpoint": RENDER, "completion_window": "24h", "input_file_id": file.id, "metadata": {"a": "\ud800"}}
    answer = httpx.post(f"{client.base_url}batches", content=json.dumps(order), timeout=60)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "metadata")
    for query, named in ({"limit": "0"}, "limit"), ({"limit": "x"}, "limit"), ({"after": "\0"}, "after"):
        with pytest.raises(openai.BadRequestError, match=named) as refused:
            client.batches.list(extra_query=query)
        assert (refused.value.param, refused.value.type) == (named, "invalid_request_error")
    with pytest.raises(openai.BadRequestError, match="Too many fields"):
        client.files.create(file=("f.jsonl", b"{}"), purpose="batch", extra_body={f"x{n}": "x" for n in range(1001)})
    for missing in ("file-", "file-abc", "nothing"):
        with pytest.raises(openai.NotFoundError, match="No such File"):
            create(client, missing)
    for call in (client.batches.retrieve, client.batches.cancel):
        with pytest.raises(openai.NotFoundError, match="No batch found"):
            call("batch_1")
    with pytest.raises(openai.NotFoundError, match="No such File"):
        client.files.content("file-abc")
