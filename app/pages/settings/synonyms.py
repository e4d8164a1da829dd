"""Words by which people look for a setting, beside those that it is shown with. The search knows them in both
languages at once: many say "CPU" or "Upload" in German, too."""

from app.language import mark, tr

SYNONYMS = {
    "run": mark("network model task project training data text digits manifest"),
    "profile": mark("preset mode cpu processor gpu memory quiet loud fan noise performance power share"),
    "idle_only": mark("idle away absent background mouse keyboard screen lock"),
    "idle_threshold_s": mark("idle timeout minutes delay wait"),
    "idle_unknown": mark("idle wayland x11 detect unknown"),
    "gpu_in_use": mark("graphics card video cuda games stutter"),
    "on_battery": mark("laptop notebook unplugged mains power supply"),
    "battery_percent": mark("laptop notebook charge level power"),
    "keep_awake": mark("sleep suspend standby hibernate power"),
    "busy_cpu_percent": mark("cpu processor load usage give way slow other programs"),
    "game_stops": mark("gaming games fullscreen film movie video presentation"),
    "game_is": mark("gaming games fullscreen film movie video presentation"),
    "exclusive_programs": mark("apps applications software exclude block list"),
    "exclusive_gpu_programs": mark("apps applications software exclude block list graphics card"),
    "cpu_share_in_use": mark("cpu processor load usage percent limit throttle slow"),
    "cpu_share_idle": mark("cpu processor load usage percent limit throttle"),
    "threads": mark("cpu processor cores multithreading"),
    "gpu_memory_percent": mark("graphics card vram video memory"),
    "memory_in_use_percent": mark("ram limit"),
    "memory_idle_percent": mark("ram limit"),
    "memory_free_mb": mark("ram reserve limit"),
    "memory_grace_s": mark("ram release unload"),
    "experts_memory_mb": mark("ram hosting limit"),
    "checkpoints_disk_mb": mark("storage ssd hard drive space quota limit"),
    "disk_free_mb": mark("storage ssd hard drive space reserve limit"),
    "peers": mark("offline alone internet network connect swarm"),
    "lan": mark("local network wifi discovery find mdns"),
    "relay": mark("router nat forward traffic server"),
    "on_metered": mark("mobile data phone hotspot tethering cost"),
    "upload_kb_s": mark("bandwidth speed limit network internet traffic"),
    "download_kb_s": mark("bandwidth speed limit network internet traffic"),
    "quota_mb": mark("bandwidth data cap volume limit upload download internet"),
    "shown_name": mark("nickname user leaderboard credit"),
    "team": mark("group club leaderboard credit"),
    "compute_hours": mark("schedule timetable calendar hours days week night time clock"),
    "network_hours": mark("schedule timetable calendar hours days week night time clock bandwidth"),
    "cpu_celsius": mark("cpu processor heat temperature hot cool fan noise degrees"),
    "gpu_celsius": mark("heat temperature hot cool fan noise degrees graphics card"),
    "cpu_watts_limit": mark("cpu processor power watts heat electricity limit"),
    "gpu_watts_limit": mark("power watts heat electricity limit graphics card"),
    "energy_budget_kwh": mark("power electricity cost limit budget"),
    "price_kwh": mark("power electricity cost money bill tariff"),
    "co2_g_kwh": mark("carbon emissions climate green power"),
    "cpu_watts_estimate": mark("cpu processor power watts tdp measure"),
    "theme": mark("dark mode light mode night colour color appearance design"),
    "language": mark("german english deutsch englisch translation locale"),
    "screensaver_min": mark("idle screen display animation"),
    "screensaver_black_min": mark("idle screen display off burn-in"),
    "reduced_motion": mark("animation effects accessibility"),
    "notify_attention": mark("notification alert message warning popup error"),
    "notify_milestone": mark("notification alert message popup badge"),
    "check_updates": mark("upgrade new version download release automatic"),
    "notify_update": mark("notification alert message popup version"),
    "control_port": mark("socket remote ssh cli"),
    "login": mark("autostart auto start startup boot launch"),
    "links": mark("url browser hearth:// protocol handler"),
    "identity": mark("key private key backup recovery words seed phrase password account"),
    "updates": mark("upgrade new version download release patch"),
    "data": mark("folder directory disk storage backup export import migrate reset uninstall remove erase wipe"),
    "consent": mark("quit exit close stop end uninstall revoke withdraw privacy agreement terms opt out"),
}
"""By name of the setting, or of what else the page shows."""


def synonyms(name: str) -> str:
    """The words for one of these, in English and in the window's language; "" for none."""
    found = SYNONYMS.get(name, "")
    return f"{found} {tr(found)}"
