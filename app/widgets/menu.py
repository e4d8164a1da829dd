"""A floating menu in the window's look: rounded, with remarks in grey at the right of the entries."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QPainter, QPainterPath, QPaintEvent, QRegion, QResizeEvent
from PySide6.QtWidgets import QMenu

from app import theme as look
from app.colors import mix
from app.icons import hairline
from app.theme import theme


class Menu(QMenu):
    """A `QMenu` whose entries may carry a remark behind a tab: "For 1 hour<tab>until 15:47"."""

    def __init__(self) -> None:
        super().__init__()
        self.setFont(theme().font("body"))
        # Without a compositor (X11) a translucent window is black where it should be clear: cut the corners instead.
        self._masked = QGuiApplication.platformName() == "xcb"
        self.setWindowFlags(self.windowFlags() | Qt.WindowType.FramelessWindowHint)
        if not self._masked:
            self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._masked:
            path = QPainterPath()
            path.addRoundedRect(QRectF(self.rect()), look.RADIUS_MENU, look.RADIUS_MENU)
            self.setMask(QRegion(path.toFillPolygon().toPolygon()))

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = hairline(painter, QRectF(self.rect()), colors.color("border"))
        painter.setBrush(colors.color("raised"))
        painter.drawRoundedRect(rect, look.RADIUS_MENU, look.RADIUS_MENU)
        painter.setFont(self.font())
        for action in self.actions():
            row = self.actionGeometry(action)
            if action.isSeparator():
                line = QRectF(row.left() + 8, row.center().y(), row.width() - 16, 1)
                painter.fillRect(line, colors.color("border"))
                continue
            if action is self.activeAction():
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(mix(colors.color("raised"), colors.color("text"), 0.08))
                painter.drawRoundedRect(row, look.RADIUS_CONTROL, look.RADIUS_CONTROL)
            word, _, remark = action.text().partition("\t")
            inner = row.adjusted(colors.px(14), 0, -colors.px(14), 0)
            painter.setPen(colors.color("text" if action.isEnabled() else "text3"))
            painter.drawText(inner, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), word)
            painter.setPen(colors.color("text3"))
            painter.drawText(inner, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight), remark)
