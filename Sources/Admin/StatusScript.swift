// The status page's script: it counts down, asks every two seconds whether anything has changed, and then
// takes over the parts of a fresh page that differ. All rendering stays the server's.

enum StatusScript {
    static let text = """

        'use strict';
        (() => {
        const all = (part, root) => (root || document).querySelectorAll(part);
        const live = document.getElementById('live');
        let skew = document.body.dataset.now * 1000 - Date.now();
        let seen = document.body.dataset.revision;
        const span = (s) => {
          s = Math.max(0, Math.floor(s));
          const d = Math.floor(s / 86400), h = Math.floor(s % 86400 / 3600);
          const m = Math.floor(s % 3600 / 60), r = s % 60;
          return d ? `${d} d ${h} h` : h ? `${h} h ${m} min` : m ? `${m} min ${r} s` : `${r} s`;
        };
        const tick = () => {
          const now = (Date.now() + skew) / 1000;
          for (const e of all('[data-until]')) {
            const left = Math.ceil(e.dataset.until - now);
            e.textContent = left > 0 ? e.dataset.word + span(left) : 'now';
          }
          for (const e of all('[data-since]')) {
            e.textContent = span(now - e.dataset.since) + e.dataset.word;
          }
          for (const e of all('[data-from]')) {
            const part = (now - e.dataset.from) / (e.dataset.to - e.dataset.from);
            e.setAttribute('width', Math.round(1000 * Math.min(1, Math.max(0, part))));
          }
        };
        // What differs by the passing of time alone, or by what was opened, is no difference.
        const bare = (e) => {
          const c = e.cloneNode(true);
          for (const t of all('[data-until],[data-since]', c)) t.textContent = '';
          for (const t of all('[data-from]', c)) t.removeAttribute('width');
          for (const t of all('details', c)) t.removeAttribute('open');
          return c.outerHTML;
        };
        const swap = (old, fresh) => {
          if (bare(old) === bare(fresh)) return;
          const open = [...all('details[open]', old)].map((e) => e.id);
          const focus = old.contains(document.activeElement) && document.activeElement.id;
          old.replaceWith(fresh);
          for (const e of all('details', fresh)) e.open = open.includes(e.id);
          if (focus && document.getElementById(focus)) {
            document.getElementById(focus).focus({preventScroll: true});
          }
        };
        const fill = (old, fresh) => {
          const had = new Map([...old.children].map((e) => [e.id, e]));
          let place = null;
          for (const e of [...fresh.children]) {
            const one = had.get(e.id);
            had.delete(e.id);
            if (one) swap(one, e);
            const now = one && one.isConnected ? one : e;
            const next = place ? place.nextElementSibling : old.firstElementChild;
            if (next !== now) old.insertBefore(now, next);
            place = now;
          }
          for (const e of had.values()) e.remove();
        };
        const renew = async () => {
          const answer = await fetch('./', {cache: 'no-store'});
          if (!answer.ok) throw new Error();
          const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
          const lists = all('[data-list]'), fresh = all('[data-list]', page);
          if (lists.length !== fresh.length) return location.replace('./');
          lists.forEach((e, i) => fill(e, fresh[i]));
          for (const e of all('[data-key]')) {
            if (e.parentElement.hasAttribute('data-list')) continue;
            const one = page.getElementById(e.id);
            if (one) swap(e, one);
          }
          document.title = page.title;
          seen = page.body.dataset.revision;
          tick();
        };
        const say = (state, words) => {
          if (live.className === 'live ' + state) return;
          live.className = 'live ' + state;
          live.textContent = words;
        };
        const poll = async () => {
          try {
            const answer = await fetch('status.json', {cache: 'no-store'});
            if (!answer.ok) throw new Error();
            const facts = await answer.json();
            const drift = facts.now * 1000 - Date.now();
            if (Math.abs(drift - skew) > 1500) skew = drift;
            if (facts.revision !== seen) await renew();
            say('on', 'Live');
          } catch {
            say('off', 'The proxy does not answer');
          }
          setTimeout(poll, document.hidden ? 15000 : 2000);
        };
        if (location.search) history.replaceState(null, '', './');
        document.addEventListener('visibilitychange', () => document.hidden || tick());
        tick();
        setInterval(tick, 1000);
        poll();
        })();

        """
}
