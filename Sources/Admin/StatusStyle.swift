// The status page's own style, on top of the house's.

enum StatusStyle {
    static let sheet = """

        .wide{max-width:72rem;margin:0 auto;padding:1.1rem clamp(1rem,4vw,2rem) 3rem}
        .top{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:center;\
        gap:.5rem 1.5rem;padding-bottom:.9rem;border-bottom:1px solid var(--line)}
        .live{display:inline-flex;align-items:center;gap:.45rem;font-size:.875rem;color:var(--soft)}
        .live.on::before,.live.off::before{content:"";width:.6rem;height:.6rem;border-radius:50%;\
        background:var(--good)}
        .live.off::before{background:var(--bad)}
        .verdict{display:grid;grid-template-columns:auto minmax(0,1fr);gap:.2rem 1rem;\
        align-items:center;padding:1.6rem 0 1.2rem}
        .verdict .badge{grid-row:span 2}
        .verdict p{color:var(--soft);overflow-wrap:anywhere}
        .note{margin:0 0 1.2rem;padding:.75rem 1rem;border-radius:.6rem;background:var(--tint);\
        color:var(--tone);font-weight:550;overflow-wrap:anywhere}
        .note p,.note ul{font-weight:400;margin-top:.3rem}
        .note ul{padding-left:1.2rem}
        section>h2{margin:1.7rem 0 .8rem}
        .cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr));\
        gap:1rem;align-items:start}
        .card{background:var(--card);border:1px solid var(--line);border-top:4px solid var(--tone);\
        border-radius:.9rem;box-shadow:var(--lift);padding:1.05rem 1.15rem 1.15rem;display:grid;\
        grid-template-columns:minmax(0,1fr);gap:.85rem}
        .card>header{display:flex;flex-wrap:wrap;justify-content:space-between;align-items:center;\
        gap:.35rem .8rem}
        .card h3{font-size:1.15rem;font-weight:650;overflow-wrap:anywhere}
        .pill{display:inline-flex;align-items:center;gap:.35rem;padding:.16rem .7rem .16rem .5rem;\
        border-radius:2rem;background:var(--tint);color:var(--tone);font-size:.875rem;\
        font-weight:600;white-space:nowrap}
        .pill .icon{width:1.05rem;height:1.05rem}
        .big{font-size:1.75rem;line-height:1.15;font-weight:650;letter-spacing:-.02em;\
        font-variant-numeric:tabular-nums}
        .big+p,.why{color:var(--soft);font-size:.95rem;overflow-wrap:anywhere}
        .why strong{color:var(--ink);font-weight:600}
        .span{display:block;width:100%;height:.6rem;border-radius:.3rem;background:var(--sunk)}
        .span .gone{fill:var(--tone)}.span .next{fill:var(--ink)}
        .facts{display:grid;grid-template-columns:auto minmax(0,1fr);gap:.28rem .9rem;\
        font-size:.9rem;font-variant-numeric:tabular-nums}
        .facts dt{color:var(--soft)}.facts dd{overflow-wrap:anywhere}
        .facts .tone{color:var(--bad)}.facts small{color:var(--soft);white-space:nowrap}
        .chips .missing{background:none;border:1px dashed var(--warn);color:var(--warn)}
        .acts{display:flex;flex-wrap:wrap;gap:.55rem;align-items:start}
        summary{cursor:pointer;min-height:2.5rem;padding:.5rem .6rem;border-radius:.55rem;\
        color:var(--soft)}
        .acts details[open]{flex-basis:100%;padding:.1rem .9rem .9rem;border:1px solid var(--line);\
        border-radius:.6rem}
        .acts details[open] summary{padding-left:0}
        .acts details p{font-size:.9rem;color:var(--soft);padding:.7rem 0}
        .danger{color:var(--bad);border-color:currentColor}
        .sheet{background:var(--card);border:1px solid var(--line);border-radius:.9rem;\
        box-shadow:var(--lift);overflow:hidden}
        table{width:100%;border-collapse:collapse;font-size:.925rem;\
        font-variant-numeric:tabular-nums}
        th{text-align:left;font-weight:550;font-size:.825rem;color:var(--soft);\
        padding:.6rem .9rem;border-bottom:1px solid var(--line);white-space:nowrap}
        td{padding:.62rem .9rem;border-top:1px solid var(--line)}
        tbody tr:first-child td{border-top:0}
        td.n,th.n{text-align:right;white-space:nowrap}
        td code{font-size:.875rem}
        td small{display:block;color:var(--soft);font-size:.825rem;overflow-wrap:anywhere}
        td.when{white-space:nowrap;color:var(--soft)}td.id{color:var(--soft)}
        .chart{display:block;width:11rem;height:2.4rem}
        .chart .ok{fill:var(--calm)}.chart .err{fill:var(--bad)}.chart .floor{fill:var(--line)}
        .status{font-weight:600;color:var(--tone)}
        .none{padding:1.1rem 1.15rem;color:var(--soft)}
        .foot{display:flex;flex-wrap:wrap;gap:.4rem 1.2rem;margin-top:2.2rem;padding-top:1rem;\
        border-top:1px solid var(--line);font-size:.875rem;color:var(--soft)}
        .hide{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);\
        white-space:nowrap}
        @media (max-width:46rem){
        .sheet thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
        .sheet table,.sheet tbody{display:block}
        .sheet tr{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:.15rem 1rem;\
        padding:.85rem 1.05rem;border-top:1px solid var(--line)}
        .sheet tr:first-child{border-top:0}
        .sheet td{display:block;padding:0;border:0;text-align:left}
        .sheet td[data-label]::before{content:attr(data-label) " ";color:var(--soft)}
        .sheet td:first-child{grid-column:1/-1}.sheet td.full{grid-column:1/-1}
        .chart{width:100%;height:2.75rem;margin-top:.35rem}
        .sheet.requests tr{display:flex;flex-wrap:wrap;gap:.15rem .9rem;align-items:baseline}
        .sheet.requests td.path{order:-1;flex-basis:100%}
        .sheet.requests td.id{margin-left:auto}
        }
        """
}
