"""A floating menu in the window's look: rounded, with remarks in grey at the right of the entries."""

from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QPainterPath, QPaintEvent, QRegion, QResizeEvent
from PySide6.QtWidgets import QMenu, QWidget

from app import theme as look
from app.colors import mix
from app.icons import rounded, smooth
from app.theme import theme


class Menu(QMenu):
    """A `QMenu` whose entries may carry a remark behind a tab: "For 1 hour<tab>until 15:47"."""

    def __init__(self) -> None:
        super().__init__()
        theme().set_sheet(self, "menu")
        self.setFont(theme().font("body"))
        # Without a compositor (X11) a translucent window is black where it should be clear: cut the corners instead.
        self._masked = QGuiApplication.platformName() == "xcb"
        self.setWindowFlags(self.windowFlags() | Qt.WindowType.FramelessWindowHint)
        if not self._masked:
            self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground)

    def open_under(self, widget: QWidget) -> None:
        """Show it below a widget until something is chosen; where it would leave the window, their ends meet."""
        self.setParent(widget, self.windowFlags())
        self.aboutToHide.connect(self.deleteLater)
        at, width, window = widget.rect().bottomLeft(), self.sizeHint().width(), widget.window()
        beyond = widget.mapTo(window, at).x() + width > window.width()
        if beyond or widget.layoutDirection() is Qt.LayoutDirection.RightToLeft:
            at.setX(widget.width() - width)
        self.popup(widget.mapToGlobal(at) + QPoint(0, 6))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._masked:
            path = QPainterPath()
            path.addRoundedRect(QRectF(self.rect()), look.RADIUS_MENU, look.RADIUS_MENU)
            self.setMask(QRegion(path.toFillPolygon().toPolygon()))

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = theme()
        painter = smooth(self)
        rounded(painter, QRectF(self.rect()), look.RADIUS_MENU, colors.color("raised"), colors.color("border"))
        painter.setFont(self.font())
        for action in self.actions():
            row = self.actionGeometry(action)
            if action.isSeparator():
                line = QRectF(row.left() + 8, row.center().y(), row.width() - 16, 1)
                painter.fillRect(line, colors.color("border"))
                continue
            if action is self.activeAction():
                rounded(
                    painter, QRectF(row), look.RADIUS_CONTROL, mix(colors.color("raised"), colors.color("text"), 0.08)
                )
            word, _, remark = action.text().partition("\t")
            inner = row.adjusted(colors.px(14), 0, -colors.px(14), 0)
            painter.setPen(colors.color("text" if action.isEnabled() else "text3"))
            painter.drawText(inner, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), word)
            painter.setPen(colors.color("text3"))
            painter.drawText(inner, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight), remark)
