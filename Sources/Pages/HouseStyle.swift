// How everything looks that a person sees in a browser: one style sheet, light or dark as the browser
// is, from the width of a phone upwards. It names no font, picture or address outside the page.

package enum HouseStyle {
    /// For every page.
    package static let sheet = """
        :root{color-scheme:light dark;--paper:#f5f4f0;--card:#fff;--ink:#1c1d21;--soft:#5a5c65;\
        --line:#dfddd5;--sunk:#efede7;--accent:#3346c9;--on-accent:#fff;\
        --good:#0b6b43;--good-bg:#def3e6;--calm:#1c56ad;--calm-bg:#e1ecfb;\
        --warn:#7a4e00;--warn-bg:#fcecc8;--bad:#a8231b;--bad-bg:#fbe3df;\
        --lift:0 1px 2px #1c1d2114,0 4px 14px #1c1d210a;\
        --mono:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}
        @media (prefers-color-scheme:dark){:root{--paper:#121316;--card:#1b1d22;--ink:#ecebe6;\
        --soft:#a7aab3;--line:#2f323a;--sunk:#24272d;--accent:#aab7ff;--on-accent:#11142b;\
        --good:#6fdba5;--good-bg:#12311f;--calm:#98c2ff;--calm-bg:#152741;\
        --warn:#f1c368;--warn-bg:#362909;--bad:#ffa59b;--bad-bg:#401813;--lift:0 1px 2px #0006}}
        *{box-sizing:border-box}
        body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,\
        -apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;-webkit-text-size-adjust:100%}
        h1,h2,h3,p,ul,dl,dd,figure{margin:0;padding:0}
        h1{font-size:1.6rem;line-height:1.2;font-weight:650;letter-spacing:-.015em;\
        text-wrap:balance;overflow-wrap:anywhere}
        h2{font-size:1.05rem;font-weight:650}
        a{color:var(--accent);text-underline-offset:.18em}
        code{font:.92em/1.4 var(--mono);overflow-wrap:anywhere}
        button,.button{display:inline-block;min-height:2.5rem;padding:.45rem .95rem;\
        border:1px solid var(--line);border-radius:.55rem;background:var(--card);color:inherit;\
        font:inherit;font-weight:550;line-height:1.4;text-decoration:none;cursor:pointer}
        button:hover,.button:hover{border-color:var(--soft)}
        .main{background:var(--accent);border-color:var(--accent);color:var(--on-accent)}
        .main:hover{border-color:var(--ink)}
        :focus-visible{outline:3px solid var(--accent);outline-offset:2px}
        .icon{fill:none;stroke:currentColor;stroke-width:2.4;stroke-linecap:round;\
        stroke-linejoin:round}
        .mark{display:flex;align-items:center;gap:.55rem;color:var(--soft);font-weight:600;\
        font-size:.95rem}
        .mark .icon{width:1.5rem;height:1.5rem;color:var(--accent)}
        .good{--tone:var(--good);--tint:var(--good-bg)}.calm{--tone:var(--calm);--tint:var(--calm-bg)}
        .warn{--tone:var(--warn);--tint:var(--warn-bg)}.bad{--tone:var(--bad);--tint:var(--bad-bg)}
        .badge{width:3rem;height:3rem;border-radius:50%;display:grid;place-items:center;\
        background:var(--tint);color:var(--tone)}
        .badge .icon{width:1.7rem;height:1.7rem}
        .word{max-width:34rem;margin:0 auto;padding:clamp(1.25rem,8vh,5rem) 1.1rem 2rem;\
        display:grid;grid-template-columns:minmax(0,1fr);gap:1.1rem}
        .word>section{background:var(--card);border:1px solid var(--line);\
        border-top:4px solid var(--tone);border-radius:.9rem;box-shadow:var(--lift);\
        padding:clamp(1.25rem,5vw,2rem);display:grid;grid-template-columns:minmax(0,1fr);gap:1rem;\
        overflow-wrap:anywhere}
        .row{display:flex;flex-wrap:wrap;gap:.7rem}
        .row>*{flex:1;text-align:center}
        .small{font-size:.875rem;color:var(--soft)}
        .chips{display:flex;flex-wrap:wrap;gap:.3rem;list-style:none}
        .chips li{padding:.05rem .5rem;border-radius:.35rem;background:var(--sunk);\
        font:.84rem/1.6 var(--mono);overflow-wrap:anywhere}
        .command{display:block;padding:.7rem .9rem;border-radius:.55rem;background:var(--sunk)}
        .digits{font:600 1.9rem/1.2 var(--mono);letter-spacing:.08em}
        @media (prefers-reduced-motion:no-preference){button,.button{transition:border-color .12s}}
        @media (forced-colors:active){.badge,.pill,.chips li{border:1px solid}}
        """
}
