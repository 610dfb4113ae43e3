"""Reading HTML in tests."""

from html.parser import HTMLParser


class Tags(HTMLParser):
    """Checks that tags are closed in order, and collects the addresses that a page would load."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched, self.count = [], [], {}

    def handle_starttag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag not in ("meta", "link", "br", "input"):
            self.open.append(tag)
        self.fetched += [v for k, v in attributes if k in ("src", "href") and not v.startswith(("#", "data:"))]

    def handle_startendtag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
