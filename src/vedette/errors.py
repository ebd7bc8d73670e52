"""Every error that vedette raises on purpose.

    VedetteError
    ├── InputError              the caller's input is wrong                       exit 2, HTTP 400
    │   ├── SchemaError         a schema that is not one, or cannot be enforced
    │   │   └── NothingQualifies    a field that nothing in this input can fill
    │   ├── LabelError          a label list that cannot be used
    │   ├── InputTooLong        one input that can never fit
    │   ├── PictureError        a file that is no picture, or one that cannot be used
    │   ├── RequestRefused      a server refuses what it was asked
    │   ├── BudgetTooSmall      max_tokens cannot hold any legal answer
    │   ├── JournalMismatch     the journal beside the output is another job's
    │   ├── CalibrationMismatch a threshold file made for another model, prompt or label list
    │   ├── RedLine             a task that a small model is not to be trusted with
    │   ├── GuardBlocked        a text that breaks a policy of the gateway
    │   ├── AdapterRefused      an adapter that cannot be applied, or not to this model
    │   └── ProjectorRefused    a vision projector that cannot be used, or not with this model
    ├── FileError               a file cannot be read, written or parsed          exit 2
    │   └── DiskFull            not enough room, said before or while writing
    ├── ModelError              weights: missing, corrupt, wrong hash             exit 2, HTTP 404
    │   ├── ModelNotFound
    │   ├── ModelCorrupt
    │   └── HashMismatch
    ├── CapabilityMissing       this backend cannot do what the task needs        exit 2, HTTP 501
    └── RequestError            one request ended without an answer               HTTP 500
        ├── Cancelled
        ├── DeadlineExceeded                                                      HTTP 504
        ├── Overloaded          queue full; try again                             HTTP 429
        ├── ConstraintFailed    the constraint engine gave up: no answer, never a free one
        ├── EngineFailed        llama.cpp returned an error
        ├── RedactionFailed     what must be hidden cannot be: the text does not leave
        ├── LedgerFailed        the gateway's ledger cannot be written or read     HTTP 503
        └── ServerError         a server that answers for a model did not          HTTP 502
            ├── ServerUnreachable   no connection, or it broke off
            │   └── AnswerInterrupted   it broke off within an answer; try again
            ├── ServerTimeout   no answer in time                                   HTTP 504
            ├── ServerFailed    an HTTP 5xx, or a reply that makes no sense
            ├── RateLimited     it has too much to do, at each try                 HTTP 429
            └── AccessDenied    it wants a key, or another one                      HTTP 401

Each carries a `code` for machines, a message (what was wrong, with which value) and a `hint`
(what to do). They are raised where the cause is known and shaped for the wire in one place.
"""

from __future__ import annotations

from typing import ClassVar


class VedetteError(Exception):
    """Base of the tree; never raised itself."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def as_dict(self) -> dict[str, str]:
        """The error of a result line: code, message and, if there is one, the hint."""
        body = {"code": self.code, "message": self.message}
        if self.hint:
            body["hint"] = self.hint
        return body

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InputError(VedetteError):
    """What the caller gave is wrong; asking again will not help."""

    code = "invalid_input"
    http_status = 400


class SchemaError(InputError):
    """A JSON Schema that is not one, or that cannot be enforced."""

    code = "invalid_schema"


class LabelError(InputError):
    """A label list that cannot be used: empty, duplicates, unreadable."""

    code = "invalid_labels"


class InputTooLong(InputError):
    """One input that can never fit; the message has both sizes in tokens."""

    code = "input_too_long"


class PictureError(InputError):
    """A picture that cannot be used; `sha256` is that of its bytes, where they could be read."""

    code = "invalid_picture"

    def __init__(self, message: str, *, hint: str | None = None, sha256: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.sha256 = sha256


class BudgetTooSmall(InputError):
    """`max_tokens` cannot hold any legal answer."""

    code = "budget_too_small"


class RequestRefused(InputError):
    """A server refuses what it was asked; its reason is in the message."""

    code = "request_refused"


class NothingQualifies(SchemaError):
    """A field must be borne out by the input, may not be null, and nothing in it qualifies."""

    code = "nothing_qualifies"


class JournalMismatch(InputError):
    """The journal beside the output belongs to another job."""

    code = "journal_mismatch"


class CalibrationMismatch(InputError):
    """A threshold file was made for another model, prompt or label list."""

    code = "calibration_mismatch"


class RedLine(InputError):
    """A task that a small model is not to be trusted with; the message says why."""

    code = "red_line"


class GuardBlocked(InputError):
    """A text breaks a policy that a route of the gateway blocks; the message names it."""

    code = "blocked_by_guard"


class AdapterRefused(InputError):
    """An adapter that cannot be applied as a whole, or not to this model."""

    code = "adapter_refused"


class ProjectorRefused(InputError):
    """A vision projector that cannot be used, or not with this model."""

    code = "projector_refused"


class FileError(VedetteError):
    """A file that cannot be read, written or parsed."""

    code = "file_error"
    http_status = 400


class DiskFull(FileError):
    """Not enough room on the disk."""

    code = "disk_full"
    http_status = 507


class ModelError(VedetteError):
    """Something is wrong with the weights."""

    code = "model_error"
    http_status = 404


class ModelNotFound(ModelError):
    """No such name, file or repository, or offline and not in the cache."""

    code = "model_not_found"


class ModelCorrupt(ModelError):
    """A file that is not a readable GGUF."""

    code = "model_corrupt"


class HashMismatch(ModelError):
    """The bytes are not the ones that the registry promises."""

    code = "hash_mismatch"


class CapabilityMissing(VedetteError):
    """The backend cannot do what the task needs."""

    code = "capability_missing"
    http_status = 501


class RequestError(VedetteError):
    """One request ended without an answer."""

    code = "request_failed"


class Cancelled(RequestError):
    """The caller cancelled the request."""

    code = "cancelled"
    http_status = 499


class DeadlineExceeded(RequestError):
    """The request's deadline passed before its answer was complete."""

    code = "deadline_exceeded"
    http_status = 504


class Overloaded(RequestError):
    """The queue is full."""

    code = "overloaded"
    http_status = 429
    retryable = True


class ConstraintFailed(RequestError):
    """The constraint engine gave up. The answer is withheld, never passed on unconstrained."""

    code = "constraint_failed"


class EngineFailed(RequestError):
    """llama.cpp returned an error."""

    code = "engine_failed"
    retryable = True


class RedactionFailed(RequestError):
    """What is to be hidden before a request leaves could not be; it has not left."""

    code = "redaction_failed"


class LedgerFailed(RequestError):
    """The gateway's ledger cannot be written or read."""

    code = "ledger_failed"
    http_status = 503
    retryable = True


class ServerError(RequestError):
    """A server that answers for a model did not. What is worth trying again has been."""

    code = "server_error"
    http_status = 502


class ServerUnreachable(ServerError):
    """There is no connection to the server, or it broke off."""

    code = "server_unreachable"


class AnswerInterrupted(ServerUnreachable):
    """The connection broke off after a part of the answer had been passed on."""

    code = "answer_interrupted"
    retryable = True


class ServerTimeout(ServerError):
    """The server did not answer in time."""

    code = "server_timeout"
    http_status = 504


class ServerFailed(ServerError):
    """The server answered with an HTTP 5xx, or with something that makes no sense."""

    code = "server_failed"


class RateLimited(ServerError):
    """The server has too much to do, and had at each try."""

    code = "rate_limited"
    http_status = 429


class AccessDenied(ServerError):
    """The server wants a key, or another one."""

    code = "access_denied"
    http_status = 401
