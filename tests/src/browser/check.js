// What is wrong with the layout of the page that this is evaluated in, in a window `width` CSS pixels wide: an array of
// complaints, each with its kind in front.
//
// overflow  something ends beyond the window, and is not inside of what scrolls by itself
// overlap   two texts on top of each other
// cut       a text that sticks out of its drawing, or of a box that hides what does
// tiny      letters too small to read
// contrast  a text in nearly the colour of what is behind it
(width) => {
    const SLACK = 1.5; // px, below which nobody sees it
    const LEAST_SIZE = 9; // px, of the font
    const LEAST_CONTRAST = 4.5; // WCAG 2, level AA
    const SHOWN = 5; // complaints of a kind

    const found = new Map();
    const complain = (kind, text) => found.set(kind, [...(found.get(kind) ?? []), `${kind}: ${text}`]);

    const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const cached = (compute) => {
        const known = new Map();
        return (key) => (known.has(key) || known.set(key, compute(key)), known.get(key));
    };
    const styleOf = cached((element) => getComputedStyle(element));
    // In a drawing, Chromium takes for visible what stands in an element that is not displayed.
    const isDrawn = cached(
        (element) =>
            !(element instanceof SVGElement) ||
            (styleOf(element).display !== 'none' && isDrawn(element.parentElement)),
    );
    const isShown = cached(
        (element) =>
            element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
            isDrawn(element) &&
            !element.closest('defs, symbol, clipPath, mask, marker, pattern, option'),
    );

    const tagOf = (element) => {
        const [first] = element.classList;
        return `<${element.localName}${element.id ? `#${element.id}` : first ? `.${first}` : ''}>`;
    };
    const placeOf = (element) => {
        const named = element.closest('[id]');
        return named ? ` in ${tagOf(named)}` : '';
    };

    // Elements beyond the window: the outermost ones.
    const beyond = (element) => {
        const isRoot = element === document.body;
        const box = element.getBoundingClientRect();
        const sticksOut = box.right > width + 1 || (box.left < -1 && box.right > 0);
        if (box.width > 0 && sticksOut && !isRoot && isShown(element)) {
            return [`${tagOf(element)} goes from ${Math.round(box.left)} to ${Math.round(box.right)} px`];
        }
        const scrolls = !isRoot && styleOf(element).overflowX !== 'visible';
        return scrolls || element.localName === 'svg' ? [] : [...element.children].flatMap(beyond);
    };
    const page = document.scrollingElement.scrollWidth;
    const wide = beyond(document.body);
    if (page > width && wide.length === 0) wide.push(`the page is ${page} px wide`);
    for (const text of wide) complain('overflow', `${text} in a window of ${width} px`);

    // What is to be seen inside of an element: all of its ancestors' boxes that cut off what is outside.
    const EVERYWHERE = { left: -1e9, top: -1e9, right: 1e9, bottom: 1e9 };
    const meet = (a, b) => ({
        left: Math.max(a.left, b.left),
        top: Math.max(a.top, b.top),
        right: Math.min(a.right, b.right),
        bottom: Math.min(a.bottom, b.bottom),
    });
    const cutterOf = cached((element) => {
        if (element === document.body || element === document.documentElement) return { seen: EVERYWHERE, hidden: [] };
        const { overflowX, overflowY, position, textOverflow } = styleOf(element);
        const outer = position === 'fixed' ? cutterOf(document.body) : cutterOf(element.parentElement);
        const isDrawing = element instanceof SVGElement && element.ownerSVGElement === null;
        const cuts = overflowX !== 'visible' && !(element instanceof SVGElement && !isDrawing);
        if (!cuts && !isDrawing) return outer;
        const box = element.getBoundingClientRect();
        const hides = ['hidden', 'clip'].some((value) => value === overflowX || value === overflowY);
        // Text must not leave a drawing, even where it would be seen.
        const isHiding = isDrawing || (hides && textOverflow !== 'ellipsis');
        return {
            seen: cuts ? meet(outer.seen, box) : outer.seen,
            hidden: isHiding ? [...outer.hidden, { element, box }] : outer.hidden,
        };
    });

    // How a font's box is larger than a text's ink, above and below, as shares of its height.
    const margins = cached((key) => {
        const [font, text] = key.split('\n');
        pen.font = font;
        const metrics = pen.measureText(text);
        const ascent = metrics.fontBoundingBoxAscent;
        const descent = metrics.fontBoundingBoxDescent;
        const whole = ascent + descent || 1;
        return {
            above: Math.max(0, (ascent - metrics.actualBoundingBoxAscent) / whole),
            below: Math.max(0, (descent - metrics.actualBoundingBoxDescent) / whole),
        };
    });
    const inkOf = (box, { above, below }) => ({
        left: box.left,
        top: box.top + box.height * above,
        right: box.right,
        bottom: box.bottom - box.height * below,
    });
    const cornersOf = ({ left, top, right, bottom }) => [[left, top], [right, top], [right, bottom], [left, bottom]];
    const boundsOf = (corners) => {
        const [xs, ys] = [0, 1].map((axis) => corners.map((corner) => corner[axis]));
        return { left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) };
    };

    // The lines of a text: a text node's own, or of turned letters in a drawing the element's box, turned.
    const quadsOf = (node, element, matrix) => {
        const style = styleOf(element);
        const font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
        const margin = margins(`${font}\n${node.data.replaceAll('\n', ' ')}`);
        if (matrix && (Math.abs(matrix.b) > 1e-3 || Math.abs(matrix.c) > 1e-3)) {
            const { x, y, width, height } = element.getBBox();
            const box = inkOf({ left: x, top: y, right: x + width, bottom: y + height, height }, margin);
            const turned = ([x, y]) => [matrix.a * x + matrix.c * y + matrix.e, matrix.b * x + matrix.d * y + matrix.f];
            return [cornersOf(box).map(turned)];
        }
        const range = document.createRange();
        range.selectNodeContents(node);
        const boxes = [...range.getClientRects()].filter((box) => box.width > 0 && box.height > 0);
        return boxes.map((box) => cornersOf(inkOf(box, margin)));
    };

    // Every line of text that can be seen.
    const lines = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement;
        const text = node.data.trim().replace(/\s+/g, ' ');
        if (!text || !isShown(element)) continue;
        const drawing = element instanceof SVGElement ? element.closest('svg:not(svg svg)') : null;
        const matrix = drawing && element.getScreenCTM?.();
        const [seen, hidden] = [cutterOf(element).seen, cutterOf(element).hidden];
        const name = `"${text.length > 32 ? `${text.slice(0, 31)}…` : text}"${placeOf(element)}`;
        for (const corners of quadsOf(node, element, matrix)) {
            const bounds = boundsOf(corners);
            const box = meet(bounds, seen);
            if (box.right - box.left < SLACK || box.bottom - box.top < SLACK) {
                // Beyond a drawing's edge is an error; beyond a box that scrolls, or that hides it on purpose, is not.
                if (drawing) lines.push({ node, element, drawing, matrix, name, corners, bounds, hidden, isGone: true });
                continue;
            }
            const isCut = !matrix?.b && !matrix?.c;
            lines.push({ node, element, drawing, matrix, name, corners: isCut ? cornersOf(box) : corners, bounds, hidden });
        }
    }

    for (const { name, bounds, hidden, drawing, isGone } of lines) {
        const judges = isGone ? hidden.filter(({ element }) => element === drawing) : hidden;
        for (const { element, box } of judges) {
            const [left, top] = [box.left - bounds.left, box.top - bounds.top];
            const out = Math.max(left, top, bounds.right - box.right, bounds.bottom - box.bottom);
            if (out > SLACK) complain('cut', `${name} sticks out of ${tagOf(element)} by ${Math.round(out)} px`);
        }
    }
    const seenLines = lines.filter(({ isGone }) => !isGone);

    // Two texts share as much as their shadows do, in the direction in which those share least.
    const axesOf = (corners) =>
        [[0, 1], [1, 2]].map(([from, to]) => {
            const [x, y] = [corners[to][0] - corners[from][0], corners[to][1] - corners[from][1]];
            const length = Math.hypot(x, y) || 1;
            return [x / length, y / length];
        });
    const shadow = (corners, [x, y]) => {
        const at = corners.map((corner) => corner[0] * x + corner[1] * y);
        return [Math.min(...at), Math.max(...at)];
    };
    const shared = (a, b) => {
        const each = [...axesOf(a), ...axesOf(b)].map((axis) => {
            const [[start, end], [from, to]] = [shadow(a, axis), shadow(b, axis)];
            return Math.min(end, to) - Math.max(start, from);
        });
        return Math.min(...each);
    };
    // Whether a text stands in a box of its own above the other, such as a note that the pointer brings up.
    const coverOf = cached((element) => {
        if (!element || element === document.body) return null;
        const { position, backgroundColor } = styleOf(element);
        const isCover = position !== 'static' && colourOf(backgroundColor)[3] > 0.9;
        return isCover ? element : coverOf(element.parentElement);
    });
    const covers = (line, other) => coverOf(line.element) && !coverOf(line.element).contains(other.element);
    const boxes = seenLines.map((line) => ({ line, box: boundsOf(line.corners) })).sort((a, b) => a.box.top - b.box.top);
    let open = [];
    const pairs = new Set();
    for (const next of boxes) {
        open = open.filter(({ box }) => box.bottom - next.box.top > SLACK);
        for (const { line, box } of open) {
            const isBeside = Math.min(box.right, next.box.right) - Math.max(box.left, next.box.left) <= SLACK;
            // A turned text's box is all of its element's.
            const isSame = line.node === next.line.node || (line.matrix?.b && line.element.contains(next.line.element));
            if (isBeside || isSame || covers(line, next.line) || covers(next.line, line)) continue;
            const depth = shared(line.corners, next.line.corners);
            const pair = `${line.name} and ${next.line.name}`;
            if (depth > SLACK && !pairs.has(pair)) complain('overlap', `${pair} by ${Math.round(depth)} px`);
            if (depth > SLACK) pairs.add(pair);
        }
        open.push(next);
    }

    for (const { element, matrix, name } of firstOfEach(seenLines)) {
        const scale = matrix ? Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c)) : 1;
        const size = parseFloat(styleOf(element).fontSize) * scale;
        if (size < LEAST_SIZE - 0.05) complain('tiny', `${name} is ${size.toFixed(1)} px`);
    }

    const pale = new Map();
    for (const line of firstOfEach(seenLines)) {
        const contrast = contrastOf(line);
        if (!contrast || contrast.ratio >= LEAST_CONTRAST - 0.005) continue;
        const { colours, ratio } = contrast;
        pale.set(colours, { ratio, names: [...(pale.get(colours)?.names ?? []), line.name] });
    }
    for (const [colours, { ratio, names }] of pale) {
        const others = names.length > 1 ? ` (and ${names.length - 1} more)` : '';
        complain('contrast', `${names[0]} is ${ratio.toFixed(1)} : 1, ${colours}${others}`);
    }

    return [...found.values()].flatMap((all) =>
        all.length > SHOWN ? [...all.slice(0, SHOWN), `${all[0].split(':')[0]}: and ${all.length - SHOWN} more`] : all,
    );

    function firstOfEach(lines) {
        return [...new Map(lines.map((line) => [line.node, line]).reverse()).values()].reverse();
    }

    // The contrast of a text with what is behind it, or null where that is a picture or a pattern.
    function contrastOf({ element, drawing, matrix, corners }) {
        const style = styleOf(element);
        let layers;
        if (drawing) {
            if (!isColour(style.fill)) return null;
            const text = faded(colourOf(style.fill), style.fillOpacity * opacityWithin(element, drawing));
            const halo = style.paintOrder.startsWith('stroke') && isColour(style.stroke);
            const along = [0.1, 0.5, 0.9].map((share) => {
                const point = (axis) => {
                    const [start, end] = [(corners[0][axis] + corners[3][axis]) / 2, (corners[1][axis] + corners[2][axis]) / 2];
                    return start + share * (end - start);
                };
                return shapesBehind(element, drawing, point(0), point(1));
            });
            if (along.includes(null)) return null;
            layers = along.map((shapes) => ({ text, shapes: halo ? [colourOf(style.stroke), ...shapes] : shapes }));
        } else {
            layers = [{ text: colourOf(style.color), shapes: [] }];
        }
        const all = layers.map(({ text, shapes }) => painted(text, shapes, drawing ?? element));
        if (all.includes(null)) return null;
        return all.reduce((worst, each) => (each.ratio < worst.ratio ? each : worst));
    }

    // What the eye compares: the pixel with the text, and the pixel without.
    function painted(text, shapes, element) {
        let [ink, paper] = [text, [0, 0, 0, 0]];
        const put = (colour) => ([ink, paper] = [over(ink, colour), over(paper, colour)]);
        shapes.forEach(put);
        for (let at = element; at; at = at.parentElement) {
            const { backgroundColor, backgroundImage, opacity } = styleOf(at);
            if (paper[3] < 0.999 && backgroundImage !== 'none') return null;
            put(colourOf(backgroundColor));
            [ink, paper] = [faded(ink, opacity), faded(paper, opacity)];
        }
        put(canvasColour());
        const [high, low] = [luminance(ink), luminance(paper)].sort((a, b) => b - a);
        const hex = (colour) => `#${colour.slice(0, 3).map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;
        return { ratio: (high + 0.05) / (low + 0.05), colours: `${hex(ink)} on ${hex(paper)}` };
    }

    // The colours of the shapes of a drawing that lie behind its `text` at a point of the window, the uppermost first.
    function shapesBehind(text, drawing, x, y) {
        const colours = [];
        for (const { shape, box, back } of shapesOf(drawing)) {
            const isOutside = x < box.left || x > box.right || y < box.top || y > box.bottom;
            const isBefore = shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
            if (isOutside || !isBefore || !shape.isPointInFill(new DOMPoint(x, y).matrixTransform(back))) continue;
            const { fill, fillOpacity } = styleOf(shape);
            if (!isColour(fill)) return null;
            colours.unshift(faded(colourOf(fill), fillOpacity * opacityWithin(shape, drawing)));
        }
        return colours;
    }
    function shapesOf(drawing) {
        shapesOf.known ??= new Map();
        if (!shapesOf.known.has(drawing)) {
            const shapes = [...drawing.querySelectorAll('rect, path, circle, ellipse, polygon, polyline')];
            const filled = shapes.filter((shape) => isShown(shape) && styleOf(shape).fill !== 'none');
            const place = (shape) => ({ shape, box: shape.getBoundingClientRect(), back: shape.getScreenCTM().inverse() });
            shapesOf.known.set(drawing, filled.map(place));
        }
        return shapesOf.known.get(drawing);
    }
    function opacityWithin(element, drawing) {
        let opacity = 1;
        for (let at = element; at !== drawing; at = at.parentElement) opacity *= styleOf(at).opacity;
        return opacity;
    }

    // Colours: red, green and blue from 0 to 255, and opacity from 0 to 1.
    function isColour(paint) {
        return paint !== 'none' && !paint.startsWith('url(') && !paint.startsWith('context-');
    }
    function colourOf(colour) {
        colourOf.known ??= cached((colour) => {
            pen.clearRect(0, 0, 1, 1);
            pen.fillStyle = colour;
            pen.fillRect(0, 0, 1, 1);
            const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
            return [red, green, blue, alpha / 255];
        });
        return colourOf.known(colour);
    }
    function canvasColour() {
        canvasColour.known ??= colourOf(canvasName());
        return canvasColour.known;
    }
    function canvasName() {
        const probe = document.createElement('div');
        probe.style.color = 'Canvas';
        document.documentElement.append(probe);
        const name = getComputedStyle(probe).color;
        probe.remove();
        return name;
    }
    function faded([red, green, blue, alpha], opacity) {
        return [red, green, blue, alpha * opacity];
    }
    function over(top, bottom) {
        const alpha = top[3] + bottom[3] * (1 - top[3]);
        const mix = (index) => (top[index] * top[3] + bottom[index] * bottom[3] * (1 - top[3])) / (alpha || 1);
        return [mix(0), mix(1), mix(2), alpha];
    }
    function luminance(colour) {
        const linear = (part) => (part <= 0.04045 * 255 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
        return 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2]);
    }
}
