// Made by scripts/otlp-decoder.ts out of the .proto files of OpenTelemetry (Apache-2.0, proto/LICENSE).
/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-mixed-operators, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars, default-case, jsdoc/require-param*/
import $protobuf from "protobufjs/minimal.js";

const $Reader = $protobuf.Reader, $util = $protobuf.util;
const $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError;

const $root = $protobuf.roots["default"] || ($protobuf.roots["default"] = {});

export const opentelemetry = $root.opentelemetry = (() => {

const opentelemetry = {};

opentelemetry.proto = (function() {

const proto = {};

proto.collector = (function() {

const collector = {};

collector.trace = (function() {

const trace = {};

trace.v1 = (function() {

const v1 = {};

v1.ExportTraceServiceRequest = (function() {

const ExportTraceServiceRequest = function (properties) {
this.resourceSpans = [];
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

ExportTraceServiceRequest.prototype.resourceSpans = $util.emptyArray;

ExportTraceServiceRequest.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
if (!(message.resourceSpans && message.resourceSpans.length))
message.resourceSpans = [];
message.resourceSpans.push($root.opentelemetry.proto.trace.v1.ResourceSpans.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return ExportTraceServiceRequest;
})();

v1.ExportTraceServiceResponse = (function() {

const ExportTraceServiceResponse = function (properties) {
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

ExportTraceServiceResponse.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.collector.trace.v1.ExportTraceServiceResponse();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
reader.skipType(tag & 7, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return ExportTraceServiceResponse;
})();

return v1;
})();

return trace;
})();

return collector;
})();

proto.trace = (function() {

const trace = {};

trace.v1 = (function() {

const v1 = {};

v1.TracesData = (function() {

const TracesData = function (properties) {
this.resourceSpans = [];
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

TracesData.prototype.resourceSpans = $util.emptyArray;

TracesData.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.trace.v1.TracesData();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
if (!(message.resourceSpans && message.resourceSpans.length))
message.resourceSpans = [];
message.resourceSpans.push($root.opentelemetry.proto.trace.v1.ResourceSpans.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return TracesData;
})();

v1.ResourceSpans = (function() {

const ResourceSpans = function (properties) {
this.scopeSpans = [];
this.instrumentationLibrarySpans = [];
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

ResourceSpans.prototype.resource = null;
ResourceSpans.prototype.scopeSpans = $util.emptyArray;
ResourceSpans.prototype.instrumentationLibrarySpans = $util.emptyArray;
ResourceSpans.prototype.schemaUrl = "";

ResourceSpans.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message, value;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.trace.v1.ResourceSpans();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
message.resource = $root.opentelemetry.proto.resource.v1.Resource.decode(reader, reader.size(), $undefined, _depth + 1, message.resource);
continue;
}
case 2: {
if (wireType !== 2)
break;
if (!(message.scopeSpans && message.scopeSpans.length))
message.scopeSpans = [];
message.scopeSpans.push($root.opentelemetry.proto.trace.v1.ScopeSpans.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
case 1000: {
if (wireType !== 2)
break;
if (!(message.instrumentationLibrarySpans && message.instrumentationLibrarySpans.length))
message.instrumentationLibrarySpans = [];
message.instrumentationLibrarySpans.push($root.opentelemetry.proto.trace.v1.InstrumentationLibrarySpans.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
case 3: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.schemaUrl = value;
else
delete message.schemaUrl;
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return ResourceSpans;
})();

v1.ScopeSpans = (function() {

const ScopeSpans = function (properties) {
this.spans = [];
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

ScopeSpans.prototype.scope = null;
ScopeSpans.prototype.spans = $util.emptyArray;
ScopeSpans.prototype.schemaUrl = "";

ScopeSpans.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message, value;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.trace.v1.ScopeSpans();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
message.scope = $root.opentelemetry.proto.common.v1.InstrumentationScope.decode(reader, reader.size(), $undefined, _depth + 1, message.scope);
continue;
}
case 2: {
if (wireType !== 2)
break;
if (!(message.spans && message.spans.length))
message.spans = [];
message.spans.push($root.opentelemetry.proto.trace.v1.Span.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
case 3: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.schemaUrl = value;
else
delete message.schemaUrl;
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return ScopeSpans;
})();

v1.InstrumentationLibrarySpans = (function() {

const InstrumentationLibrarySpans = function (properties) {
this.spans = [];
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

InstrumentationLibrarySpans.prototype.instrumentationLibrary = null;
InstrumentationLibrarySpans.prototype.spans = $util.emptyArray;
InstrumentationLibrarySpans.prototype.schemaUrl = "";

InstrumentationLibrarySpans.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message, value;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.trace.v1.InstrumentationLibrarySpans();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
message.instrumentationLibrary = $root.opentelemetry.proto.common.v1.InstrumentationLibrary.decode(reader, reader.size(), $undefined, _depth + 1, message.instrumentationLibrary);
continue;
}
case 2: {
if (wireType !== 2)
break;
if (!(message.spans && message.spans.length))
message.spans = [];
message.spans.push($root.opentelemetry.proto.trace.v1.Span.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
case 3: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.schemaUrl = value;
else
delete message.schemaUrl;
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return InstrumentationLibrarySpans;
})();

v1.Span = (function() {

const Span = function (properties) {
this.attributes = [];
this.events = [];
this.links = [];
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

Span.prototype.traceId = $util.newBuffer([]);
Span.prototype.spanId = $util.newBuffer([]);
Span.prototype.traceState = "";
Span.prototype.parentSpanId = $util.newBuffer([]);
Span.prototype.name = "";
Span.prototype.kind = 0;
Span.prototype.startTimeUnixNano = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
Span.prototype.endTimeUnixNano = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
Span.prototype.attributes = $util.emptyArray;
Span.prototype.droppedAttributesCount = 0;
Span.prototype.events = $util.emptyArray;
Span.prototype.droppedEventsCount = 0;
Span.prototype.links = $util.emptyArray;
Span.prototype.droppedLinksCount = 0;
Span.prototype.status = null;

Span.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message, value;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.trace.v1.Span();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
if ((value = reader.bytes()).length)
message.traceId = value;
else
delete message.traceId;
continue;
}
case 2: {
if (wireType !== 2)
break;
if ((value = reader.bytes()).length)
message.spanId = value;
else
delete message.spanId;
continue;
}
case 3: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.traceState = value;
else
delete message.traceState;
continue;
}
case 4: {
if (wireType !== 2)
break;
if ((value = reader.bytes()).length)
message.parentSpanId = value;
else
delete message.parentSpanId;
continue;
}
case 5: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.name = value;
else
delete message.name;
continue;
}
case 6: {
if (wireType !== 0)
break;
if (value = reader.int32())
message.kind = value;
else
delete message.kind;
continue;
}
case 7: {
if (wireType !== 1)
break;
if (typeof (value = reader.fixed64()) === "object" ? value.low || value.high : value !== 0)
message.startTimeUnixNano = value;
else
delete message.startTimeUnixNano;
continue;
}
case 8: {
if (wireType !== 1)
break;
if (typeof (value = reader.fixed64()) === "object" ? value.low || value.high : value !== 0)
message.endTimeUnixNano = value;
else
delete message.endTimeUnixNano;
continue;
}
case 9: {
if (wireType !== 2)
break;
if (!(message.attributes && message.attributes.length))
message.attributes = [];
message.attributes.push($root.opentelemetry.proto.common.v1.KeyValue.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
case 10: {
if (wireType !== 0)
break;
if (value = reader.uint32())
message.droppedAttributesCount = value;
else
delete message.droppedAttributesCount;
continue;
}
case 11: {
if (wireType !== 2)
break;
if (!(message.events && message.events.length))
message.events = [];
message.events.push($root.opentelemetry.proto.trace.v1.Span.Event.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
case 12: {
if (wireType !== 0)
break;
if (value = reader.uint32())
message.droppedEventsCount = value;
else
delete message.droppedEventsCount;
continue;
}
case 13: {
if (wireType !== 2)
break;
if (!(message.links && message.links.length))
message.links = [];
message.links.push($root.opentelemetry.proto.trace.v1.Span.Link.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
case 14: {
if (wireType !== 0)
break;
if (value = reader.uint32())
message.droppedLinksCount = value;
else
delete message.droppedLinksCount;
continue;
}
case 15: {
if (wireType !== 2)
break;
message.status = $root.opentelemetry.proto.trace.v1.Status.decode(reader, reader.size(), $undefined, _depth + 1, message.status);
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

Span.SpanKind = (function() {
const valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "SPAN_KIND_UNSPECIFIED"] = 0;
values[valuesById[1] = "SPAN_KIND_INTERNAL"] = 1;
values[valuesById[2] = "SPAN_KIND_SERVER"] = 2;
values[valuesById[3] = "SPAN_KIND_CLIENT"] = 3;
values[valuesById[4] = "SPAN_KIND_PRODUCER"] = 4;
values[valuesById[5] = "SPAN_KIND_CONSUMER"] = 5;
return values;
})();

Span.Event = (function() {

const Event = function (properties) {
this.attributes = [];
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

Event.prototype.timeUnixNano = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
Event.prototype.name = "";
Event.prototype.attributes = $util.emptyArray;
Event.prototype.droppedAttributesCount = 0;

Event.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message, value;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.trace.v1.Span.Event();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 1)
break;
if (typeof (value = reader.fixed64()) === "object" ? value.low || value.high : value !== 0)
message.timeUnixNano = value;
else
delete message.timeUnixNano;
continue;
}
case 2: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.name = value;
else
delete message.name;
continue;
}
case 3: {
if (wireType !== 2)
break;
if (!(message.attributes && message.attributes.length))
message.attributes = [];
message.attributes.push($root.opentelemetry.proto.common.v1.KeyValue.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
case 4: {
if (wireType !== 0)
break;
if (value = reader.uint32())
message.droppedAttributesCount = value;
else
delete message.droppedAttributesCount;
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return Event;
})();

Span.Link = (function() {

const Link = function (properties) {
this.attributes = [];
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

Link.prototype.traceId = $util.newBuffer([]);
Link.prototype.spanId = $util.newBuffer([]);
Link.prototype.traceState = "";
Link.prototype.attributes = $util.emptyArray;
Link.prototype.droppedAttributesCount = 0;

Link.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message, value;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.trace.v1.Span.Link();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
if ((value = reader.bytes()).length)
message.traceId = value;
else
delete message.traceId;
continue;
}
case 2: {
if (wireType !== 2)
break;
if ((value = reader.bytes()).length)
message.spanId = value;
else
delete message.spanId;
continue;
}
case 3: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.traceState = value;
else
delete message.traceState;
continue;
}
case 4: {
if (wireType !== 2)
break;
if (!(message.attributes && message.attributes.length))
message.attributes = [];
message.attributes.push($root.opentelemetry.proto.common.v1.KeyValue.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
case 5: {
if (wireType !== 0)
break;
if (value = reader.uint32())
message.droppedAttributesCount = value;
else
delete message.droppedAttributesCount;
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return Link;
})();

return Span;
})();

v1.Status = (function() {

const Status = function (properties) {
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

Status.prototype.message = "";
Status.prototype.code = 0;

Status.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message, value;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.trace.v1.Status();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 2: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.message = value;
else
delete message.message;
continue;
}
case 3: {
if (wireType !== 0)
break;
if (value = reader.int32())
message.code = value;
else
delete message.code;
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

Status.StatusCode = (function() {
const valuesById = $Object.create(null), values = $Object.create(valuesById);
values[valuesById[0] = "STATUS_CODE_UNSET"] = 0;
values[valuesById[1] = "STATUS_CODE_OK"] = 1;
values[valuesById[2] = "STATUS_CODE_ERROR"] = 2;
return values;
})();

return Status;
})();

return v1;
})();

return trace;
})();

proto.common = (function() {

const common = {};

common.v1 = (function() {

const v1 = {};

v1.AnyValue = (function() {

const AnyValue = function (properties) {
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

AnyValue.prototype.stringValue = null;
AnyValue.prototype.boolValue = null;
AnyValue.prototype.intValue = null;
AnyValue.prototype.doubleValue = null;
AnyValue.prototype.arrayValue = null;
AnyValue.prototype.kvlistValue = null;
AnyValue.prototype.bytesValue = null;

let $oneOfFields;

$Object.defineProperty(AnyValue.prototype, "value", {
get: $util.oneOfGetter($oneOfFields = ["stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue", "bytesValue"]),
set: $util.oneOfSetter($oneOfFields)
});

AnyValue.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.common.v1.AnyValue();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
message.stringValue = reader.stringVerify();
message.value = "stringValue";
continue;
}
case 2: {
if (wireType !== 0)
break;
message.boolValue = reader.bool();
message.value = "boolValue";
continue;
}
case 3: {
if (wireType !== 0)
break;
message.intValue = reader.int64();
message.value = "intValue";
continue;
}
case 4: {
if (wireType !== 1)
break;
message.doubleValue = reader.double();
message.value = "doubleValue";
continue;
}
case 5: {
if (wireType !== 2)
break;
message.arrayValue = $root.opentelemetry.proto.common.v1.ArrayValue.decode(reader, reader.size(), $undefined, _depth + 1, message.arrayValue);
message.value = "arrayValue";
continue;
}
case 6: {
if (wireType !== 2)
break;
message.kvlistValue = $root.opentelemetry.proto.common.v1.KeyValueList.decode(reader, reader.size(), $undefined, _depth + 1, message.kvlistValue);
message.value = "kvlistValue";
continue;
}
case 7: {
if (wireType !== 2)
break;
message.bytesValue = reader.bytes();
message.value = "bytesValue";
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return AnyValue;
})();

v1.ArrayValue = (function() {

const ArrayValue = function (properties) {
this.values = [];
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

ArrayValue.prototype.values = $util.emptyArray;

ArrayValue.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.common.v1.ArrayValue();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
if (!(message.values && message.values.length))
message.values = [];
message.values.push($root.opentelemetry.proto.common.v1.AnyValue.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return ArrayValue;
})();

v1.KeyValueList = (function() {

const KeyValueList = function (properties) {
this.values = [];
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

KeyValueList.prototype.values = $util.emptyArray;

KeyValueList.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.common.v1.KeyValueList();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
if (!(message.values && message.values.length))
message.values = [];
message.values.push($root.opentelemetry.proto.common.v1.KeyValue.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return KeyValueList;
})();

v1.KeyValue = (function() {

const KeyValue = function (properties) {
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

KeyValue.prototype.key = "";
KeyValue.prototype.value = null;

KeyValue.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message, value;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.common.v1.KeyValue();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.key = value;
else
delete message.key;
continue;
}
case 2: {
if (wireType !== 2)
break;
message.value = $root.opentelemetry.proto.common.v1.AnyValue.decode(reader, reader.size(), $undefined, _depth + 1, message.value);
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return KeyValue;
})();

v1.InstrumentationLibrary = (function() {

const InstrumentationLibrary = function (properties) {
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

InstrumentationLibrary.prototype.name = "";
InstrumentationLibrary.prototype.version = "";

InstrumentationLibrary.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message, value;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.common.v1.InstrumentationLibrary();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.name = value;
else
delete message.name;
continue;
}
case 2: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.version = value;
else
delete message.version;
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return InstrumentationLibrary;
})();

v1.InstrumentationScope = (function() {

const InstrumentationScope = function (properties) {
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

InstrumentationScope.prototype.name = "";
InstrumentationScope.prototype.version = "";

InstrumentationScope.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message, value;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.common.v1.InstrumentationScope();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.name = value;
else
delete message.name;
continue;
}
case 2: {
if (wireType !== 2)
break;
if ((value = reader.stringVerify()).length)
message.version = value;
else
delete message.version;
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return InstrumentationScope;
})();

return v1;
})();

return common;
})();

proto.resource = (function() {

const resource = {};

resource.v1 = (function() {

const v1 = {};

v1.Resource = (function() {

const Resource = function (properties) {
this.attributes = [];
if (properties)
for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
if (properties[keys[i]] != null && keys[i] !== "__proto__")
this[keys[i]] = properties[keys[i]];
};

Resource.prototype.attributes = $util.emptyArray;
Resource.prototype.droppedAttributesCount = 0;

Resource.decode = function (reader, length, _end, _depth, _target) {
if (!(reader instanceof $Reader))
reader = $Reader.create(reader);
if (_depth === $undefined)
_depth = 0;
if (_depth > $Reader.recursionLimit)
throw $Error("max depth exceeded");
let end, message, value;
if (length === $undefined)
end = reader.len;
else {
end = reader.pos + length;
if (end > reader.len)
throw $RangeError("index out of range");
length = reader.len;
reader.len = end;
}
message = _target || new $root.opentelemetry.proto.resource.v1.Resource();
while (reader.pos < end) {
let start = reader.pos;
let tag = reader.tag();
if (tag === _end) {
_end = $undefined;
break;
}
let wireType = tag & 7;
switch (tag >>>= 3) {
case 1: {
if (wireType !== 2)
break;
if (!(message.attributes && message.attributes.length))
message.attributes = [];
message.attributes.push($root.opentelemetry.proto.common.v1.KeyValue.decode(reader, reader.size(), $undefined, _depth + 1));
continue;
}
case 2: {
if (wireType !== 0)
break;
if (value = reader.uint32())
message.droppedAttributesCount = value;
else
delete message.droppedAttributesCount;
continue;
}
}
reader.skipType(wireType, _depth, tag);
if (!reader.discardUnknown) {
$util.makeProp(message, "$unknowns", false);
(message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
}
}
if (length !== $undefined) {
if (reader.pos !== end)
throw $RangeError("index out of range");
reader.len = length;
}
if (_end !== $undefined)
throw $Error("missing end group");
return message;
};

return Resource;
})();

return v1;
})();

return resource;
})();

return proto;
})();

return opentelemetry;
})();

export {
$root as default
};

