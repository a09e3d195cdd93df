for (const svg of document.querySelectorAll("svg[data-solid]")) {
  const solid = JSON.parse(svg.dataset.solid), pairs = JSON.parse(svg.dataset.links);
  const layer = (tag, look, of = solid) => of.map((_, i) => {
    const made = document.createElementNS(svg.namespaceURI, tag);
    for (const name in look) made.setAttribute(name, look[name]);
    if (tag == "text") made.textContent = i + 1;
    return svg.appendChild(made);
  });
  const soft = layer("ellipse", {fill: "#c9a66b", "fill-opacity": .25, stroke: "#c9a66b", "stroke-width": .4});
  const link = layer("line", {stroke: "#8a8a8a", "stroke-width": .5});
  const old = layer("line", {stroke: "#8a8a8a", "stroke-width": .6, "stroke-dasharray": "1 1.5"}, pairs);
  const line = layer("line", {stroke: "#6b3f1d", "stroke-width": .8}, pairs);
  const before = layer("circle", {r: 1.6, fill: "#fff", stroke: "#8a8a8a", "stroke-width": .6});
  const dot = layer("circle", {r: 1.6, fill: "#6b3f1d"});
  const label = layer("text", {fill: "#6b3f1d", "font-size": 6, "font-family": "sans-serif"});
  const set = (made, values) => { for (const name in values) made.setAttribute(name, values[name].toFixed(3)); };
  let yaw = -.5, pitch = .35;
  const turn = () => {
    const s = Math.sin(yaw), c = Math.cos(yaw), t = Math.sin(pitch), d = Math.cos(pitch);
    const right = [c, 0, s], down = [-t * s, -d, t * c];
    const dots = (u, v) => u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    solid.forEach((n, i) => {
      const a = n.slice(0, 3), b = n.slice(3, 6), x = dots(right, b), y = dots(down, b);
      const times = v => [[n[6], n[7], n[8]], [n[7], n[9], n[10]], [n[8], n[10], n[11]]].map(row => dots(row, v));
      const p = dots(right, times(right)), q = dots(right, times(down)), r = dots(down, times(down));
      const root = Math.hypot((p - r) / 2, q), half = sign => Math.sqrt(Math.max((p + r) / 2 + sign * root, 0));
      set(soft[i], {cx: x, cy: y, rx: half(1), ry: half(-1)});
      soft[i].setAttribute("transform", `rotate(${Math.atan2(2 * q, p - r) * 90 / Math.PI} ${x} ${y})`);
      set(link[i], {x1: dots(right, a), y1: dots(down, a), x2: x, y2: y});
      set(before[i], {cx: dots(right, a), cy: dots(down, a)});
      set(dot[i], {cx: x, cy: y});
      set(label[i], {x: x + 2.5, y: y - 2.5});
    });
    pairs.forEach((pair, i) => [old[i], line[i]].forEach((made, late) => {
      const [a, b] = pair.map(k => solid[k].slice(3 * late, 3 * late + 3));
      set(made, {x1: dots(right, a), y1: dots(down, a), x2: dots(right, b), y2: dots(down, b)});
    }));
  };
  let from = [0, 0];
  const by = (x, y) => { yaw += x; pitch += y; turn(); };
  svg.addEventListener("pointerdown", event => {
    from = [event.clientX, event.clientY];
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", event => {
    if (event.buttons) by((event.clientX - from[0]) / 100, (event.clientY - from[1]) / 100);
    from = [event.clientX, event.clientY];
  });
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: [-.1, 0], ArrowRight: [.1, 0], ArrowUp: [0, -.1], ArrowDown: [0, .1]}[event.key];
    if (step) { by(...step); event.preventDefault(); }
  });
  turn();
  svg.parentElement.hidden = false;
}
