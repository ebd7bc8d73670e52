from typing import Literal

from pydantic import BaseModel, Field

import vedette


class Event(BaseModel):
    level: Literal["INFO", "WARN", "ERROR"]
    service: str = Field(max_length=32)


event = vedette.extract("18:20:11 ERROR [billing-api] invoice 8841 not rendered", Event)
print(repr(event))
answer = vedette.classify("I laughed all the way through.", ["positive", "negative"])
print(answer["label"], answer["probabilities"])
