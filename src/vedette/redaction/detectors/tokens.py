"""Keys and tokens whose issuers gave them a prefix."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

import orjson

from vedette.redaction.scan import Scan
from vedette.redaction.span import Span

# prefix -> (rule, the whole token). The forms are those that the issuers document.
_TOKENS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("AKIA", "ASIA", "ABIA", "ACCA"), ("aws-access-key-id", r"A[A-Z]{3}[A-Z2-7]{16}")
    ),
    "AIza": ("gcp-api-key", r"AIza[\w-]{35}"),
    "ya29.": ("gcp-oauth-token", r"ya29\.[\w-]{20,2000}"),
    "GOCSPX-": ("gcp-client-secret", r"GOCSPX-[\w-]{28}"),
    "AccountKey=": ("azure-storage-key", r"(?<=AccountKey=)[A-Za-z0-9+/]{86}=="),
    "SharedAccessKey=": ("azure-shared-access-key", r"(?<=SharedAccessKey=)[A-Za-z0-9+/]{43}="),
    "sig=": ("azure-sas", r"(?<=sig=)[A-Za-z0-9%+/]{40,80}(?:%3[Dd]|=)"),
    "Q~": ("azure-client-secret", r"[\w.~]{3}[0-9]Q~[\w.~-]{30,33}\w"),
    **dict.fromkeys(
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), ("github-token", r"gh[pousr]_[A-Za-z0-9]{36,255}")
    ),
    "github_pat_": ("github-fine-grained-token", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    **dict.fromkeys(
        ("glpat-", "gldt-", "glrt-", "glft-", "glcbt-", "glptt-"),
        ("gitlab-token", r"gl(?:pat|dt|rt|ft|cbt|ptt)-[\w-]{20,64}(?:\.[\w.-]{2,40}\w)?"),
    ),
    **dict.fromkeys(
        ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe"),
        ("slack-token", r"xox[abeprs][.-][\w.-]{9,249}\w"),
    ),
    "xapp-": ("slack-app-token", r"xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-z0-9]+"),
    "hooks.slack.com/": (
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/+-]{40,80}",
    ),
    **dict.fromkeys(
        ("sk_live_", "sk_test_", "rk_live_", "rk_test_"),
        ("stripe-key", r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,250}"),
    ),
    "whsec_": ("stripe-webhook-secret", r"whsec_[A-Za-z0-9+/=]{24,80}"),
    "sk-": (
        "llm-api-key",  # Anthropic, OpenAI, OpenRouter, and those who copied the prefix
        r"sk-(?:ant-[a-z0-9]+-[\w-]{20,200}|(?:proj|svcacct|admin|or-v1)-[\w-]{20,250}"
        r"|[A-Za-z0-9]{32,64})",
    ),
    "hf_": ("hugging-face-token", r"hf_[A-Za-z0-9]{30,40}"),
    "gsk_": ("groq-key", r"gsk_[A-Za-z0-9]{52}"),
    "npm_": ("npm-token", r"npm_[A-Za-z0-9]{36}"),
    "pypi-": ("pypi-token", r"pypi-[\w-]{50,1000}"),
    "SG.": ("sendgrid-key", r"SG\.[\w-]{22}\.[\w-]{43}"),
    "dapi": ("databricks-token", r"dapi[0-9a-f]{32}(?:-[0-9])?"),
    "dop_v1_": ("digitalocean-token", r"dop_v1_[0-9a-f]{64}"),
    "shpat_": ("shopify-token", r"shpat_[0-9a-fA-F]{32}"),
    "LTAI": ("alibaba-access-key-id", r"LTAI[A-Za-z0-9]{12,26}"),
    "AKID": ("tencent-secret-id", r"AKID[A-Za-z0-9]{32}"),
    ":AA": ("telegram-bot-token", r"[0-9]{8,10}:AA[\w-]{33}"),
    "eyJ": ("jwt", r"eyJ[\w-]{10,2000}\.[\w-]{2,8000}\.[\w-]{0,2000}"),
}
_FORMS = {prefix: (rule, re.compile(form, re.A)) for prefix, (rule, form) in _TOKENS.items()}
# These stand after something that belongs to the token too.
_BACK = {"Q~": 4, ":AA": 10}
_WORD = re.compile(r"[A-Za-z0-9_]")


class Tokens:
    """Implements `Detector`."""

    kinds = frozenset({"secret"})

    def find(self, scan: Scan) -> Iterator[Span]:
        """See `Detector`."""
        text = scan.folded
        for prefix, (rule, form) in _FORMS.items():
            at = text.find(prefix)
            while at >= 0:
                end = at + len(prefix)
                found = _match(text, at, prefix, form)
                if found and (rule != "jwt" or _is_jwt(found[0])):
                    yield Span(*found.span(), "secret", rule, 1.0, found[0])
                    end = found.end()
                at = text.find(prefix, end)


def _match(text: str, at: int, prefix: str, form: re.Pattern[str]) -> re.Match[str] | None:
    if back := _BACK.get(prefix):
        found = form.search(text, max(0, at - back), at + 64)
    elif prefix.endswith("="):
        return form.match(text, at + len(prefix))
    else:
        found = form.match(text, at)
    if found is None or (found.start() and _WORD.match(text, found.start() - 1)):
        return None
    return None if _WORD.match(text, found.end()) else found


def _is_jwt(token: str) -> bool:
    """Whether the first part is the JSON header of a signed or encrypted token (RFC 7519)."""
    head = token.partition(".")[0]
    try:
        header = orjson.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except ValueError:
        return False
    return isinstance(header, dict) and "alg" in header
