// Chat with the front door, and show the three steps behind it: render, generate, derender.

const $ = (id) => document.getElementById(id);
const history = [];
let image = null;
let running = null;

// --- requests ------------------------------------------------------------------------------------------------------

function headers() {
  const key = $("key").value.trim();
  return { "Content-Type": "application/json", ...(key && { Authorization: `Bearer ${key}` }) };
}

async function post(path, body, signal) {
  const response = await fetch(path, { method: "POST", headers: headers(), body: JSON.stringify(body), signal });
  if (!response.ok) throw new Error(await errorText(response));
  return response;
}

async function errorText(response) {
  const text = await response.text();
  try {
    const { error, message } = JSON.parse(text);
    return `${response.status}: ${error?.message ?? message}`;
  } catch {
    return `${response.status}: ${text.slice(0, 300)}`;
  }
}

function jsonOption(id) {
  const text = $(id).value.trim();
  if (!text) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${id} is not JSON: ${error.message}`);
  }
}

function chatRequest() {
  return {
    model: $("model").value,
    messages: history,
    temperature: Number($("temperature").value),
    max_tokens: Number($("max-tokens").value),
    tools: jsonOption("tools"),
    chat_template_kwargs: jsonOption("template-kwargs"),
  };
}

/** Data of the server-sent events of a response, decoded; ends at [DONE]. */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let buffered = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    buffered += value;
    const blocks = buffered.split(/\r?\n\r?\n/);
    buffered = blocks.pop();
    for (const block of blocks) {
      const data = block.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5)).join("\n").trim();
      if (data === "[DONE]") return;
      if (data) yield JSON.parse(data);
    }
  }
}

// --- tokens --------------------------------------------------------------------------------------------------------

/** Append tokens to a list; placeholders of media, often thousands alike, are shown once with their number. */
async function showTokens(list, tokenIds, placeholders = []) {
  const { tokens } = await (await post("page/tokens", { tokens: tokenIds })).json();
  const lengths = new Map(placeholders.map(({ offset, length }) => [offset, length]));
  for (let at = 0; at < tokens.length; ) {
    const length = lengths.get(at) ?? 1;
    const element = document.createElement("span");
    const { text, special } = tokens[at];
    const lines = text.replace(/\n+$/, ""); // line breaks at the end of a token come after its id
    if (lengths.has(at)) {
      element.className = "token media";
      element.textContent = `${text} × ${length}`;
    } else {
      element.className = `token ${special ? "special" : `t${list.childElementCount % 4}`}`;
      element.textContent = lines.replaceAll("\n", "⏎\n") + "⏎".repeat(text.length - lines.length) || "∅";
    }
    element.title = `${tokenIds[at]}`;
    list.append(element, lines === text ? "" : "\n");
    at += length;
  }
}

// --- one turn ------------------------------------------------------------------------------------------------------

async function turn() {
  const request = chatRequest();
  running = new AbortController();
  const { signal } = running;
  clearInspector();
  const rendered = await showRender(request, signal);
  const began = performance.now();
  const response = await post("v1/chat/completions", { ...request, stream: true, return_token_ids: true,
    stream_options: { include_usage: true } }, signal);
  const answer = addMessage("assistant");
  const parsed = { reasoning: "", content: "", calls: [] };
  const tokenIds = [];
  let first = null;
  let finish = null;
  let shown = Promise.resolve();
  try {
    for await (const chunk of events(response)) {
      if (chunk.error) throw new Error(chunk.error.message);
      const [choice] = chunk.choices;
      if (!choice) continue;
      if (choice.token_ids?.length) {
        first ??= performance.now();
        tokenIds.push(...choice.token_ids);
        shown = shown.then(() => showTokens($("output"), choice.token_ids));
        $("output-count").textContent = `${tokenIds.length} tokens`;
        showGenerateTime(began, first, tokenIds.length);
      }
      addDelta(parsed, choice.delta);
      finish = choice.finish_reason ?? finish;
      drawAnswer(answer, parsed);
      drawParsed(parsed, finish);
    }
  } finally {
    await shown;
    history.push(assistantMessage(parsed));
  }
  await showDerender(request, rendered, tokenIds, finish, signal);
}

function addDelta(parsed, delta) {
  parsed.reasoning += delta.reasoning ?? delta.reasoning_content ?? "";
  parsed.content += delta.content ?? "";
  for (const call of delta.tool_calls ?? []) {
    const known = (parsed.calls[call.index] ??= { id: call.id, type: "function", function: { name: "", arguments: "" } });
    known.function.name += call.function?.name ?? "";
    known.function.arguments += call.function?.arguments ?? "";
  }
}

function assistantMessage({ content, calls }) {
  return { role: "assistant", content, ...(calls.length && { tool_calls: calls }) };
}

async function showRender(request, signal) {
  const began = performance.now();
  const response = await post("v1/chat/completions/render", { ...request, mm_payload: "none" }, signal);
  const rendered = await response.json();
  $("render-time").textContent = milliseconds(performance.now() - began);
  const placeholders = Object.values(rendered.features?.mm_placeholders ?? {}).flat();
  $("prompt-count").textContent = `${rendered.token_ids.length} tokens`;
  await showTokens($("prompt"), rendered.token_ids, placeholders);
  if (placeholders.length) await showMedia(request, signal);
  return rendered;
}

/** Sizes of the engine's request for each way of sending media. */
async function showMedia(request, signal) {
  const rows = $("media").querySelector("tbody");
  $("media").hidden = false;
  for (const [payload, meaning] of [["tensors", "tensors in the request"], ["reference", "tensors in object storage, a reference in the request"],
    ["none", "hashes and placeholders alone, for routers"]]) {
    const row = rows.insertRow();
    row.insertCell().textContent = payload;
    const size = row.insertCell();
    row.insertCell().textContent = meaning;
    try {
      const body = await (await post("v1/chat/completions/render", { ...request, mm_payload: payload }, signal)).arrayBuffer();
      size.textContent = body.byteLength.toLocaleString("en");
    } catch (error) {
      size.textContent = "–";
      row.cells[2].textContent = error.message;
    }
  }
}

function showGenerateTime(began, first, count) {
  const now = performance.now();
  const speed = count > 1 && now > first ? `, ${((count - 1) / ((now - first) / 1000)).toFixed(1)} tokens/s` : "";
  $("generate-time").textContent = `first ${milliseconds(first - began)}, all ${milliseconds(now - began)}${speed}`;
}

/** Derender the same tokens once more, whole, for its time. */
async function showDerender(request, rendered, tokenIds, finish, signal) {
  if (!tokenIds.length) return;
  const body = {
    model: request.model,
    generate_response: { request_id: rendered.request_id, choices: [{ index: 0, token_ids: tokenIds, finish_reason: finish ? "stop" : null }] },
    prompt_token_ids: rendered.token_ids,
    chat_request: request,
  };
  const began = performance.now();
  await (await post("v1/chat/completions/derender", body, signal)).json();
  $("derender-time").textContent = `${milliseconds(performance.now() - began)} for ${tokenIds.length} tokens`;
}

const milliseconds = (value) =>
  value < 10_000 ? `${value < 10 ? value.toFixed(1) : Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;

// --- drawing -------------------------------------------------------------------------------------------------------

function addMessage(role, text = "") {
  $("messages").querySelector(".hint")?.remove();
  const message = document.createElement("div");
  message.className = `message ${role}`;
  message.textContent = text;
  $("messages").append(message);
  message.scrollIntoView({ block: "end" });
  return message;
}

function drawAnswer(message, { reasoning, content, calls }) {
  message.replaceChildren();
  if (reasoning) addBlock(message, "reasoning", reasoning);
  if (content) addBlock(message, "content", content);
  for (const call of calls.filter(Boolean)) addBlock(message, "call", `${call.function.name}(${call.function.arguments})`);
  message.scrollIntoView({ block: "end" });
}

function addBlock(parent, kind, text) {
  const block = document.createElement("div");
  block.className = kind;
  block.textContent = text;
  parent.append(block);
}

function drawParsed({ reasoning, content, calls }, finish) {
  const rows = [["reasoning", reasoning], ["content", content],
    ...calls.filter(Boolean).map((call, at) => [`call ${at}`, `${call.function.name} ${call.function.arguments}`])];
  $("parsed").replaceChildren(...rows.filter(([, value]) => value).flatMap(([name, value]) => {
    const term = document.createElement("dt");
    const description = document.createElement("dd");
    term.textContent = name;
    description.textContent = value;
    return [term, description];
  }));
  $("finish").textContent = finish ? `finish_reason: ${finish}` : "";
}

function clearInspector() {
  for (const id of ["prompt", "output", "parsed"]) $(id).replaceChildren();
  for (const id of ["prompt-count", "output-count", "finish"]) $(id).textContent = "";
  for (const id of ["render-time", "generate-time", "derender-time"]) $(id).textContent = "–";
  $("media").hidden = true;
  $("media").querySelector("tbody").replaceChildren();
}

// --- composer ------------------------------------------------------------------------------------------------------

function dataUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

function attach(url) {
  image = url;
  $("attached").hidden = !url;
  $("attached").replaceChildren();
  if (!url) return;
  const picture = document.createElement("img");
  picture.src = url;
  picture.alt = "attached image";
  $("attached").append(picture);
}

$("image").addEventListener("change", async ({ target }) => {
  if (target.files[0]) attach(await dataUrl(target.files[0]));
  target.value = "";
});

$("question").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("composer").requestSubmit();
  }
});

$("composer").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (running) return;
  const text = $("question").value;
  const message = addMessage("user", text);
  if (image) {
    const picture = document.createElement("img");
    picture.src = image;
    picture.alt = "";
    message.prepend(picture);
  }
  history.push({ role: "user", content: image ? [{ type: "image_url", image_url: { url: image } }, { type: "text", text }] : text });
  $("question").value = "";
  attach(null);
  const sent = history.length;
  setRunning(true);
  try {
    await turn();
  } catch (error) {
    if (error.name !== "AbortError") addMessage("error", error.message);
    if (history.length === sent) history.pop();
  } finally {
    running = null;
    setRunning(false);
  }
});

function setRunning(value) {
  $("send").disabled = value;
  $("stop").hidden = !value;
}

$("stop").addEventListener("click", () => running?.abort());

$("clear").addEventListener("click", () => {
  running?.abort();
  history.length = 0;
  $("messages").replaceChildren();
  clearInspector();
});

async function loadModels() {
  const response = await fetch("v1/models", { headers: headers() });
  if (!response.ok) throw new Error(await errorText(response));
  const { data } = await response.json();
  $("model").replaceChildren(...data.map(({ id }) => new Option(id, id)));
}

$("key").addEventListener("change", () => loadModels().catch((error) => addMessage("error", error.message)));
loadModels().catch((error) => addMessage("error", error.message));
