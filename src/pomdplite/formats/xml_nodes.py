"""XML as a tree of nodes that know their lines; documents that define entities are refused before they are read."""

import io
from collections.abc import Iterator
from typing import Any
from xml.sax import SAXException, SAXParseException, handler

from pomdplite.errors import ModelError, UsageError
from pomdplite.formats.places import FilePlace

_DEEPEST = 300  # elements inside one another


class Element:
    """An element of an XML file."""

    __slots__ = ("attributes", "children", "file", "line", "parts", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], file: str, line: int) -> None:
        self.tag, self.attributes, self.file, self.line = tag, attributes, file, line
        self.children: list[Element] = []
        self.parts: list[str] = []

    @property
    def place(self) -> FilePlace:
        """Where it begins."""
        return FilePlace(self.file, self.line)

    @property
    def text(self) -> str:
        """The characters between its tags, without those of its children."""
        return "".join(self.parts).strip()

    def each(self, *tags: str) -> Iterator["Element"]:
        """The children with one of these tags; any other child is refused."""
        for child in self.children:
            if child.tag not in tags:
                child.place.refuse(f"<{child.tag}> is not expected in <{self.tag}>")
            yield child

    def optional(self, tag: str) -> "Element | None":
        """The child with this tag; None if there is none."""
        found = None
        for child in self.children:
            if child.tag == tag:
                if found is not None:
                    child.place.refuse(f"there is a second <{tag}> in <{self.tag}>")
                found = child
        return found

    def one(self, tag: str) -> "Element":
        """The child with this tag."""
        found = self.optional(tag)
        if found is None:
            self.place.refuse(f"<{self.tag}> has no <{tag}>")
        return found

    def attribute(self, name: str) -> str:
        """An attribute that must be there."""
        value = self.attributes.get(name, "").strip()
        if not value:
            self.place.refuse(f"<{self.tag}> has no attribute {name}")
        return value


class _Builder(handler.ContentHandler):
    """Builds the tree from the events of expat, which come here without SAX's objects in between: files are large."""

    def __init__(self, file: str, parser: Any) -> None:
        super().__init__()
        self.file, self.line = file, parser.getLineNumber
        self.root: Element | None = None
        self._open: list[Element] = []
        parser.setContentHandler(self)
        parser.start_element, parser.end_element = self._start, self._end

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        """<name ...>."""
        element = Element(name, attributes, self.file, self.line())
        if self._open:
            if len(self._open) >= _DEEPEST:
                element.place.refuse(f"elements are nested more than {_DEEPEST} deep")
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, name: str) -> None:
        """</name>."""
        self._open.pop()

    def characters(self, content: str) -> None:
        """Text, in pieces."""
        self._open[-1].parts.append(content)


def parse_xml(data: bytes, file: str) -> Element:
    """The root element of an XML document; ModelError if it is not well-formed, or uses entities or a DTD."""
    try:
        from defusedxml import DefusedXmlException
        from defusedxml.sax import make_parser
    except ImportError:
        raise UsageError(".pomdpx and .policy files need defusedxml: pip install 'pomdplite[formats]'.") from None
    parser = make_parser()
    builder = _Builder(file, parser)
    parser.forbid_dtd = True
    try:
        parser.parse(io.BytesIO(data))
    except SAXParseException as error:
        FilePlace(file, error.getLineNumber() or 1).refuse(f"not well-formed XML: {error.getMessage()}")
    except DefusedXmlException:
        FilePlace(file, parser.getLineNumber() or 1).refuse(
            "a DTD or entity is declared here, and such files are not read"
        )
    except ModelError:
        raise
    except (SAXException, ValueError, LookupError) as error:  # encodings that Python or expat do not know
        FilePlace(file, 1).refuse(f"cannot be read as XML: {error}")
    assert builder.root is not None  # else the document is empty, which is not well-formed
    return builder.root
