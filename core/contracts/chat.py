"""How a conversation becomes a text, for models that continue texts: by forms, as a program in an organiser's
manifest might never end."""

from collections.abc import Iterable
from typing import Annotated

import msgspec

SAID = "{}"
"""Stands in a chat's form for what was said."""
Form = Annotated[str, msgspec.Meta(pattern=r"^[^{}]*\{\}[^{}]*\Z", max_length=256)]


class Chat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a conversation is written as a text: a form for what each side says, with `SAID` once in it. A run that names
    none has a model that continues texts; whoever talks to it all the same does so in the forms here.
    """

    system: Form = "{}\n\n"
    user: Form = "User: {}\n"
    assistant: Form = "Assistant: {}\n"

    def text(self, said: Iterable[tuple[str, str]]) -> str:
        """The conversation up to where the model is to answer.

        Args:
            said: who, as the fields are named, and what.
        """
        written = "".join(getattr(self, who).replace(SAID, what.strip()) for who, what in said)
        return written + self.assistant.partition(SAID)[0].rstrip(" ")

    def template(self) -> str:
        """The same in Jinja, for other programs. As in training, the token that ended the text before comes first."""
        sides = []
        for who in self.__struct_fields__:
            before, _, after = (_quoted(part) for part in getattr(self, who).partition(SAID))
            sides.append(f"if message['role'] == '{who}' %}}{{{{ {before} + (message['content'] | trim) + {after} }}}}")
        each = "{% " + "{% el".join(sides) + "{% endif %}"
        answer = _quoted(self.assistant.partition(SAID)[0].rstrip(" "))
        asked = f"{{% if add_generation_prompt %}}{{{{ {answer} }}}}{{% endif %}}"
        return f"{{{{ bos_token }}}}{{% for message in messages %}}{each}{{% endfor %}}{asked}"

    @property
    def stop(self) -> str:
        """What ends an answer: that which follows it, or, if that is blank, the beginning of the next question."""
        after = self.assistant.partition(SAID)[2]
        return after.strip() or after + self.user.partition(SAID)[0].rstrip()


def _quoted(text: str) -> str:
    """A text as Jinja has it, with no sign that programs which read it are known to differ in."""
    for sign, written in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(sign, written)
    return f"'{text}'"
