"""A certificate as a picture: what others have signed for this PC, with their signatures inside."""

import time

import msgspec
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QImage, QPen

from app.formats import number
from app.icons import smooth
from app.language import tr
from app.pages.contribution.history import day_name
from app.pages.contribution.milestones import ladders
from app.pages.contribution.share_picture import write
from app.theme import theme
from app.tray.tray_icons import paint_app_icon
from core.contracts.credit import DAY_S, Bundle, Certificate, Credit
from core.contracts.words import operations

SIZE = (1600, 1130)
"""A sheet of A4 across."""
FRAME = 48


def paint(credit: Credit, signed: bytes) -> QImage:
    """The sheet in the colours of the window's theme.

    Args:
        credit: of this PC.
        signed: the certificate's file, which says how this PC is called.
    """
    signatures = msgspec.json.decode(signed, type=Certificate).bundles
    bundles = (msgspec.msgpack.decode(one.bundle, type=Bundle) for one in signatures)
    named = max(bundles, key=lambda bundle: bundle.week)
    colors = theme()
    image = QImage(*SIZE, QImage.Format.Format_RGB32)
    image.fill(colors.color("canvas"))
    painter = smooth(image)
    painter.setPen(QPen(colors.color("ember_fill"), 3))
    painter.drawRoundedRect(QRectF(FRAME, FRAME, SIZE[0] - 2 * FRAME, SIZE[1] - 2 * FRAME), 24, 24)
    paint_app_icon(painter, QRectF((SIZE[0] - 112) / 2, 112, 112, 112))
    days, _ = ladders(credit)
    since = tr("since {day}", day=day_name(credit.since * DAY_S + DAY_S / 2)) if credit.since is not None else ""
    lines = [
        (250, 64, tr("Certificate"), "text", QFont.Weight.DemiBold),
        (346, 34, named.name or tr("A volunteer's PC"), "text", QFont.Weight.Medium),
        (404, 26, named.team, "text2", QFont.Weight.Normal),
        (486, 30, tr("has computed for the neural networks of volunteers:"), "text2", QFont.Weight.Normal),
        (560, 76, operations(credit.verified, number), "text", QFont.Weight.DemiBold),
        (672, 28, tr("verified by those it computed for, on %Ln day(s),", int(days.now)), "text2", QFont.Weight.Normal),
        (716, 28, since, "text2", QFont.Weight.Normal),
        (860, 24, tr("Their signatures are in this picture. Anybody can check them:"), "text2", QFont.Weight.Normal),
        (904, 24, "hearth credit verify", "text", QFont.Weight.Medium),
        (980, 22, tr("Made on {day}.", day=day_name(time.time())), "text3", QFont.Weight.Normal),
    ]
    for top, size, text, tone, weight in lines:
        room = QRectF(2 * FRAME, top, SIZE[0] - 4 * FRAME, size * 1.4)
        write(painter, text, room, size, tone, weight, Qt.AlignmentFlag.AlignHCenter)
    painter.end()
    return image
