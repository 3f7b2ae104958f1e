"""The Hub's protocol, request by request."""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import json
import re
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from .server import Answer, Handler
from .state import ATTRIBUTES, LARGE_BYTES, Commit, Dataset, Entry, Request, blob_id, now

ROUTES: list[tuple[tuple[str, ...], re.Pattern[str], Callable[..., None]]] = []
ID = r"(?P<repository>[^/]+/[^/]+)"
API = rf"/api/datasets/{ID}"
REVISION = r"(?P<revision>[^/]+)"


def route(methods: str, pattern: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def add(answer: Callable[..., None]) -> Callable[..., None]:
        ROUTES.append((tuple(methods.split()), re.compile(pattern), answer))
        return answer

    return add


def at(dataset: Dataset, revision: str | None) -> Commit:
    commit = dataset.resolve(revision)
    if commit is None:
        raise Answer(404, f"Invalid rev id: {revision}", "RevisionNotFound")
    return commit


# accounts and datasets -------------------------------------------------------------------------------------


@route("GET", "/api/whoami-v2")
def whoami(h: Handler) -> None:
    if h.account is None:
        raise Answer(401, "Invalid username or password.")
    if h.account.get("scoped"):
        raise Answer(403, "This token may not ask")
    orgs = [{"type": "org", "name": name, "roleInOrg": role} for name, role in h.account["orgs"].items()]
    token = {"displayName": "t", "role": h.account["role"], **h.account.get("token", {})}
    h.send(200, {"type": "user", "name": h.account["name"], "orgs": orgs, "auth": {"accessToken": token}})


@route("POST", "/oauth/token")
def exchange(h: Handler) -> None:
    asked = h.json()
    token = h.double.identity_tokens.get(asked["subject_token"])
    if token is None:
        raise Answer(400, "invalid_grant")
    h.send(200, {"access_token": token, "token_type": "bearer", "expires_in": 3600})


@route("POST", "/api/validate-yaml")
def validate(h: Handler) -> None:
    import yaml

    block = re.match(r"---\n(.*?)\n---\n", h.json()["content"], re.DOTALL)
    errors = []
    try:
        value = yaml.safe_load(block[1]) if block else {}
        if not isinstance(value.get("configs", []), list):
            errors.append({"message": '"configs" must be an array'})
    except yaml.YAMLError as error:
        errors.append({"message": str(error)})
    h.send(400 if errors else 200, {"errors": errors, "warnings": []})


@route("POST", "/api/repos/create")
def create(h: Handler) -> None:
    asked = h.json()
    if h.account is None:
        raise Answer(401, "Invalid username or password.")
    repository = f"{asked.get('organization') or h.account['name']}/{asked['name']}"
    h.require_writer(repository)
    url = f"{h.double.url}/datasets/{repository}"
    if repository in h.double.datasets:
        h.send(409, {"error": "You already created this dataset repo", "url": url})
        return
    dataset = Dataset(repository, private=asked.get("visibility") == "private")
    tree = {".gitattributes": Entry(len(ATTRIBUTES), blob_id(ATTRIBUTES), ATTRIBUTES)}
    dataset.move_main(dataset.commit(None, tree, "initial commit"))
    h.double.datasets[repository] = dataset
    h.send(200, {"url": url, "name": repository})


@route("PUT", rf"{API}/settings")
def settings(h: Handler, repository: str) -> None:
    dataset = h.dataset(repository, write=True)
    asked = h.json()
    if "visibility" in asked:
        dataset.private = asked["visibility"] == "private"
    dataset.gated = asked.get("gated", dataset.gated)
    h.send(200, {"private": dataset.private, "gated": dataset.gated})


@route("GET HEAD", rf"{API}(?:/revision/{REVISION})?")
def info(h: Handler, repository: str, revision: str | None = None) -> None:
    dataset = h.dataset(repository)
    commit = at(dataset, revision)
    h.send(
        200,
        {
            "id": repository,
            "author": repository.split("/")[0],
            "sha": commit.id,
            "lastModified": now(),
            "private": dataset.private,
            "gated": dataset.gated,
            "tags": [],
            "siblings": [{"rfilename": path} for path in sorted(commit.tree)],
        },
    )


@route("GET", rf"{API}/refs")
def refs(h: Handler, repository: str) -> None:
    dataset = h.dataset(repository)

    def listed(kind: str, names: dict[str, str]) -> list[dict[str, str]]:
        return [{"name": n, "ref": f"refs/{kind}/{n}", "targetCommit": c} for n, c in names.items()]

    h.send(200, {"branches": listed("heads", dataset.branches), "converts": [], "tags": listed("tags", dataset.tags)})


@route("GET", rf"{API}/commits/{REVISION}")
def commits(h: Handler, repository: str, revision: str) -> None:
    dataset = h.dataset(repository)
    commit: Commit | None = at(dataset, revision)
    found = []
    while commit:
        found.append({"id": commit.id, "title": commit.title, "message": "", "authors": [], "date": now()})
        commit = dataset.commits.get(commit.parent or "")
    h.send(200, found)


@route("POST", rf"{API}/tag/{REVISION}")
def tag(h: Handler, repository: str, revision: str) -> None:
    dataset = h.dataset(repository, write=True)
    name = h.json()["tag"]
    if name in dataset.tags:
        raise Answer(409, "Tag reference exists already")
    dataset.tags[name] = at(dataset, revision).id
    h.send(200, {})


# files -----------------------------------------------------------------------------------------------------


def listed(h: Handler, path: str, entry: Entry) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": "file", "oid": entry.oid, "size": entry.size, "path": path}
    if entry.sha256:
        fields["lfs"] = {"oid": entry.sha256, "size": entry.size, "pointerSize": 134}
        name = h.double.large.xet_hash(entry.sha256) if h.double.xet else None
        if name:
            fields["xetHash"] = name
    return fields


def folder(path: str) -> dict[str, Any]:
    return {"type": "directory", "oid": hashlib.sha1(path.encode()).hexdigest(), "size": 0, "path": path}


@route("GET", rf"{API}/tree/{REVISION}(?:/(?P<path>.*))?")
def tree(h: Handler, repository: str, revision: str, path: str = "") -> None:
    commit = at(h.dataset(repository), revision)
    prefix = f"{path.strip('/')}/" if path.strip("/") else ""
    below = {p: e for p, e in commit.tree.items() if p.startswith(prefix)}
    if prefix and not below:
        raise Answer(404, f"{path} does not exist", "EntryNotFound")
    found, folders = [], set()
    for name, entry in below.items():
        parts = name.removeprefix(prefix).split("/")
        folders |= {prefix + "/".join(parts[:i]) for i in range(1, len(parts))}
        if len(parts) == 1 or h.flag("recursive"):
            found.append(listed(h, name, entry))
    if not h.flag("recursive"):
        folders = {name for name in folders if "/" not in name.removeprefix(prefix)}
    found = sorted([*found, *map(folder, folders)], key=lambda item: str(item["path"]))
    page, start = 20, int((h.query.get("cursor") or ["0"])[0])  # small pages, so that paging is exercised
    headers = {}
    if start + page < len(found):
        query = urllib.parse.urlencode({**{k: v[0] for k, v in h.query.items()}, "cursor": start + page})
        headers["Link"] = f'<{h.double.url}{urllib.parse.urlsplit(h.path).path}?{query}>; rel="next"'
    h.send(200, found[start : start + page], headers)


@route("POST", rf"{API}/paths-info/{REVISION}")
def paths_info(h: Handler, repository: str, revision: str) -> None:
    commit = at(h.dataset(repository), revision)
    is_json = h.headers.get("Content-Type", "").startswith("application/json")
    asked = h.json()["paths"] if is_json else urllib.parse.parse_qs(h.body().decode()).get("paths", [])
    found = []
    for path in (str(item).strip("/") for item in asked):
        if path in commit.tree:
            found.append(listed(h, path, commit.tree[path]))
        elif any(name.startswith(f"{path}/") for name in commit.tree):
            found.append(folder(path))
    h.send(200, found)


@route("GET HEAD", rf"/datasets/{ID}/resolve/{REVISION}/(?P<path>.+)")
def resolve(h: Handler, repository: str, revision: str, path: str) -> None:
    dataset = h.dataset(repository)
    if dataset.gated and h.account is None:
        raise Answer(401, "Access to this dataset is restricted.", "GatedRepo")
    commit = at(dataset, revision)
    entry = commit.tree.get(path)
    if entry is None:
        raise Answer(404, "Entry not found", "EntryNotFound", {"X-Repo-Commit": commit.id})
    headers = {"X-Repo-Commit": commit.id, "Accept-Ranges": "bytes"}
    if entry.sha256 is None:
        assert entry.content is not None
        part(h, entry.content, {**headers, "ETag": f'"{entry.oid}"'})
        return
    headers |= {"ETag": f'"{entry.sha256}"', "X-Linked-Etag": f'"{entry.sha256}"', "X-Linked-Size": str(entry.size)}
    name = h.double.large.xet_hash(entry.sha256) if h.double.xet else None
    if name:
        token = f"{h.double.url}/api/datasets/{repository}/xet-read-token/{commit.id}"
        headers |= {"X-Xet-Hash": name, "X-Xet-Refresh-Route": token, "Link": f'<{token}>; rel="xet-auth"'}
    # another host, as with the real one: the client follows redirects that stay on its endpoint's host
    h.send(302, b"", {**headers, "Location": f"http://localhost:{h.double.port}/cdn/{entry.sha256}"})


@route("GET HEAD", r"/cdn/(?P<sha256>[0-9a-f]{64})")
def cdn(h: Handler, sha256: str) -> None:
    part(h, h.double.large.read(sha256), {"ETag": f'"{sha256}"', "Accept-Ranges": "bytes"})


def part(h: Handler, content: bytes, headers: dict[str, str]) -> None:
    kind = "application/octet-stream"
    asked = re.fullmatch(r"bytes=(\d+)-(\d*)", h.headers.get("Range", ""))
    if not asked:
        h.send(200, content, headers, kind)
        return
    start, end = int(asked[1]), min(int(asked[2] or len(content) - 1), len(content) - 1)
    if start >= len(content):
        h.send(416, b"", {"Content-Range": f"bytes */{len(content)}"})
        return
    headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
    h.send(206, content[start : end + 1], headers, kind)


# uploading -------------------------------------------------------------------------------------------------


def is_large(commit: Commit, path: str, size: int, sample: bytes) -> bool:
    attributes = commit.tree[".gitattributes"].content or b""
    patterns = [line.split()[0] for line in attributes.decode().splitlines() if "filter=lfs" in line]
    return size > LARGE_BYTES or b"\0" in sample or any(fnmatch.fnmatch(path.split("/")[-1], p) for p in patterns)


@route("POST", rf"{API}/preupload/{REVISION}")
def preupload(h: Handler, repository: str, revision: str) -> None:
    commit = at(h.dataset(repository, write=True), revision)
    found = []
    for file in h.json()["files"]:
        large = is_large(commit, file["path"], file["size"], base64.b64decode(file["sample"]))
        old = commit.tree.get(file["path"])
        oid = (old.sha256 or old.oid) if old else None
        mode = "lfs" if large else "regular"
        found.append({"path": file["path"], "uploadMode": mode, "shouldIgnore": False, "oid": oid})
    h.send(200, {"files": found, "commitOid": commit.id})


@route("POST", rf"/datasets/{ID}\.git/info/lfs/objects/batch")
def lfs_batch(h: Handler, repository: str) -> None:
    h.dataset(repository, write=True)
    found = []
    for item in h.json()["objects"]:
        answer: dict[str, Any] = {"oid": item["oid"], "size": item["size"]}
        if not h.double.large.has(item["oid"]):
            upload = {"href": f"{h.double.url}/lfs/{item['oid']}", "header": {}}
            verify = {"href": f"{h.double.url}/lfs-verify", "header": {}}
            answer |= {"authenticated": True, "actions": {"upload": upload, "verify": verify}}
        found.append(answer)
    h.send(200, {"transfer": "basic", "objects": found}, kind="application/vnd.git-lfs+json")


@route("PUT", r"/lfs/(?P<sha256>[0-9a-f]{64})")
def lfs_put(h: Handler, sha256: str) -> None:
    if not h.double.large.put(sha256, h.body()):
        raise Answer(400, "the content has another digest")
    h.send(200)


@route("POST", "/lfs-verify")
def lfs_verify(h: Handler) -> None:
    if not h.double.large.has(h.json()["oid"]):
        raise Answer(404, "missing")
    h.send(200, {})


@route("GET", rf"{API}/xet-(?P<mode>read|write)-token/{REVISION}")
def xet_token(h: Handler, repository: str, mode: str, revision: str) -> None:
    if not h.double.xet:
        raise Answer(404, "the double stores large files by LFS")
    h.dataset(repository, write=mode == "write")
    store, until = f"local://{h.double.large.chunks}/", int(time.time()) + 3600
    headers = {"X-Xet-Cas-Url": store, "X-Xet-Access-Token": "xet", "X-Xet-Token-Expiration": str(until)}
    h.send(200, {"casUrl": store, "accessToken": "xet", "exp": until}, headers)


@route("POST", rf"{API}/commit/{REVISION}")
def commit(h: Handler, repository: str, revision: str) -> None:
    dataset = h.dataset(repository, write=True)
    lines = [json.loads(line) for line in h.body().splitlines() if line.strip()]
    (header,) = (line["value"] for line in lines if line["key"] == "header")
    base = at(dataset, revision)
    if header.get("parentCommit") not in (None, base.id):
        raise Answer(412, "A commit has happened since. Please refresh and try again.")
    changed = dict(base.tree)
    for line in lines:
        if line["key"] != "header":
            change(h, changed, line["key"], line["value"])
    made = dataset.commit(base.id, changed, header["summary"])
    request = re.fullmatch(r"refs/pr/(\d+)", revision)
    if "create_pr" in h.query or (not request and revision not in dataset.branches):
        raise Answer(400, "the double commits to branches and pull requests only")
    if request:
        dataset.requests[int(request[1])].head = made
    else:
        dataset.move_main(made)
    url = f"{h.double.url}/datasets/{repository}/commit/{made}"
    h.send(200, {"success": True, "commitOid": made, "commitUrl": url, "hookOutput": ""})


def change(h: Handler, files: dict[str, Entry], key: str, value: dict[str, Any]) -> None:
    path = value["path"]
    if key == "file":
        content = base64.b64decode(value["content"])
        files[path] = Entry(len(content), blob_id(content), content)
    elif key == "lfsFile":
        sha256 = value["oid"]
        if not h.double.large.has(sha256):
            raise Answer(400, f"LFS pointer pointed to a file that does not exist. Offending file: {path}")
        size = value.get("size") or len(h.double.large.read(sha256))
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n".encode()
        files[path] = Entry(size, blob_id(pointer), None, sha256)
    elif key == "deletedFile":
        if files.pop(path, None) is None:
            raise Answer(404, f"A file with the name {path} does not exist", "EntryNotFound")
    else:
        raise Answer(400, f"unknown operation {key}")


# pull requests ---------------------------------------------------------------------------------------------


def details(dataset: Dataset, number: int) -> dict[str, Any]:
    item = dataset.requests[number]
    text = {"raw": item.description, "html": "", "updatedAt": now(), "author": {"name": item.author}}
    comment = {"edited": False, "hidden": False, "latest": text, "history": []}
    event = {"id": "0", "type": "comment", "createdAt": now(), "author": {"name": item.author}, "data": comment}
    return {
        "title": item.title,
        "num": number,
        "author": {"name": item.author},
        "createdAt": now(),
        "status": item.status,
        "repo": {"name": dataset.id, "type": "dataset"},
        "isPullRequest": True,
        "events": [event],
        "changes": {"base": "refs/heads/main", "mergeCommitId": item.merged_as},
        "filesWithConflicts": [],
        "diff": "",
    }


@route("POST", rf"{API}/discussions")
def open_request(h: Handler, repository: str) -> None:
    dataset = h.dataset(repository)
    if h.account is None:
        raise Answer(401, "Invalid username or password.")
    asked = h.json()
    number = len(dataset.requests) + 1
    head = dataset.branches["main"]
    dataset.requests[number] = Request(asked["title"], asked["description"], h.account["name"], head)
    h.send(200, {"num": number, "pullRequest": True})


@route("GET", rf"{API}/discussions")
def requests(h: Handler, repository: str) -> None:
    dataset = h.dataset(repository)
    found = [details(dataset, number) for number in sorted(dataset.requests, reverse=True)]
    page = int((h.query.get("p") or ["0"])[0])
    part_of = found[page * 2 : page * 2 + 2]
    h.send(200, {"discussions": part_of, "count": len(found), "start": page * 2})


@route("GET", rf"{API}/discussions/(?P<number>\d+)")
def request(h: Handler, repository: str, number: str) -> None:
    dataset = h.dataset(repository)
    if int(number) not in dataset.requests:
        raise Answer(404, "no such discussion")
    h.send(200, details(dataset, int(number)))


@route("POST", rf"{API}/discussions/(?P<number>\d+)/(?P<act>status|merge)")
def act(h: Handler, repository: str, number: str, act: str) -> None:
    dataset = h.dataset(repository, write=True)
    item = dataset.requests[int(number)]
    if act == "status":
        item.status = h.json()["status"]
    elif item.status != "open":
        raise Answer(409, f"Cannot merge a pull request that is {item.status}")
    else:
        merge(dataset, item, int(number))
    event = {"id": "1", "type": "status-change", "createdAt": now(), "author": {"name": "tester"}}
    h.send(200, {"newStatus": {**event, "data": {"status": item.status}}})


def merge(dataset: Dataset, item: Request, number: int) -> None:
    """Like git: what the pull request changed since it left main is applied to main as it is now."""
    head = dataset.commits[item.head]
    main = dataset.commits[dataset.branches["main"]]
    base: Commit | None = head
    ancestors = set()
    walk: Commit | None = main
    while walk:
        ancestors.add(walk.id)
        walk = dataset.commits.get(walk.parent or "")
    while base and base.id not in ancestors:
        base = dataset.commits.get(base.parent or "")
    assert base is not None
    files = dict(main.tree)
    for path in {*base.tree, *head.tree}:
        if base.tree.get(path) != head.tree.get(path):
            if path in head.tree:
                files[path] = head.tree[path]
            else:
                files.pop(path, None)
    made = dataset.commit(main.id, files, f"{item.title} (#{number})")
    dataset.move_main(made)
    item.status, item.merged_as = "merged", made
