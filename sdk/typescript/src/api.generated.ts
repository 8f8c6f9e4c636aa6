export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Where in the product the conversation takes place. */
        AgentContext: {
            /** @description Part of the product, such as `billing`. 1 to 512 characters. */
            productArea?: string;
            /** @description Where the agent is met, such as `help-widget`. 1 to 512 characters. */
            surface?: string;
            /** @description Route of the page, such as `/orders/:id`. At most 2048 characters. */
            routeTemplate?: string;
            /** @description Path of the page, such as `/orders/2041`. At most 2048 characters. */
            pathname?: string;
            /** @description What opened the conversation, such as `help-button`. 1 to 512 characters. */
            entryPoint?: string;
            /** @description What the conversation is about, such as `order`. 1 to 512 characters. */
            entityType?: string;
            /** @description The caller’s id of what the conversation is about. 1 to 512 characters. */
            entityId?: string;
            /** @description Environment of the application, such as `production`. 1 to 512 characters. */
            environment?: string;
            /** @description Release of the application. 1 to 512 characters. */
            release?: string;
            /** @description At most 50 further JSON values, by name. */
            properties?: {
                [key: string]: unknown;
            };
        };
        /** @description Who takes part in a conversation. */
        AgentParticipant: {
            /** @description The caller’s id of the participant. 1 to 512 characters. */
            externalId?: string;
            /** @description Name to show. 1 to 512 characters. */
            displayName?: string;
            /** @description Name to sign in with. 1 to 512 characters. */
            username?: string;
            /** @description E-mail address. 1 to 512 characters. */
            email?: string;
            /** @description The caller’s id of the company. 1 to 512 characters. */
            companyExternalId?: string;
            /**
             * @description `external`: a customer; `internal`: a member of the organization. Unless given, as the settings of the application say.
             * @enum {string}
             */
            boundary?: "external" | "internal";
            /**
             * Format: uuid
             * @description Id of the canonical person.
             */
            personId?: string;
        };
        /**
         * @description Where the session stands. `pending`: to be processed; `processing`, `completed`, `failed`; `billing_blocked`: it waits for credits; `capture_disabled`: content is not kept.
         * @enum {string}
         */
        AgentProcessingStatus: "pending" | "processing" | "completed" | "failed" | "billing_blocked" | "capture_disabled";
        AgentSession: {
            /**
             * Format: uuid
             * @description Id of the session.
             */
            id: string;
            /** @description Key of its application. */
            agentKey: string;
            /** @description The caller’s id of the session. */
            externalSessionId: string;
            /**
             * @description What its sender said of it last.
             * @enum {string}
             */
            status: "open" | "ended" | "abandoned";
            processingStatus: components["schemas"]["AgentProcessingStatus"];
            /** @description Version of the agent; null where none was sent. */
            agentVersion: string | null;
            /** @description What sent the events; null where it was not said. */
            source: {
                /** @description Name of the library. */
                sdk?: string;
                /** @description Version of the library. */
                version?: string;
            } | null;
            /** @description Where in the product the session takes place; null where it was not said. */
            context: components["schemas"]["AgentContext"] | null;
            /** @description Environment of the session; null where none was sent. */
            environment: string | null;
            /** @description Who takes part. */
            participants: components["schemas"]["AgentParticipant"][];
            /**
             * @description How the conversation ended, as the analysis reads it; null: not analysed, or in a language that is not.
             * @enum {string|null}
             */
            outcome: "resolved" | "unresolved" | "unclear" | null;
            /**
             * @description What the outcome rests on; null: there is none, or it is `unclear`.
             * @enum {string|null}
             */
            outcomeBasis: "stated" | "inferred" | null;
            /**
             * @description How the customer felt at the end; null as for `outcome`, and where it cannot be told surely enough.
             * @enum {string|null}
             */
            sentiment: "positive" | "negative" | "neutral" | null;
            analysis: components["schemas"]["Analysis"];
            /** @description Every event up to this sequence has been processed; null: none yet. */
            processedThroughSequence: number | null;
            /** @description Sequences missing up to here are no longer waited for, because the session was idle for too long; null: never. */
            gapsPermanentThrough: number | null;
            /**
             * Format: date-time
             * @description When the first event occurred, in UTC. For some time after an upgrade, older sessions have `createdAt` here.
             */
            startedAt: string;
            /**
             * Format: date-time
             * @description When the last event occurred, in UTC; of older sessions as `startedAt`.
             */
            endedAt: string;
            /**
             * Format: date-time
             * @description When the first event arrived, in UTC.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it was changed last, in UTC.
             */
            updatedAt: string;
            /**
             * Format: date-time
             * @description When events arrived last, in UTC.
             */
            lastActivityAt: string;
        };
        /** @description One page of a list. */
        AgentSessionPage: {
            /** @description The items of the page, at most `limit`. If a filter matches few rows, a page may have fewer items or none; `has_more` then tells that the search continues. */
            data: components["schemas"]["AgentSession"][];
            /** @description Maximum number of items on the page. */
            limit: number;
            /** @description Whether there are more items. */
            has_more: boolean;
            /** @description The `cursor` of the next page; null on the last one. */
            next_cursor: string | null;
        };
        /** @description Whether it was read, and why not. What was not read has no findings, which does not mean that nothing is there. */
        Analysis: {
            /**
             * @description `read`: analysed; `waiting`: not yet; `not_read`: it was not, or not to its end.
             * @enum {string}
             */
            state: "read" | "waiting" | "not_read";
            /**
             * @description Why it was not read. Null otherwise, and where the analysis failed.
             * @enum {string|null}
             */
            reason: "language" | "no_words" | "capture_disabled" | "billing" | null;
            /**
             * @description Name of the analyser that read it last; null: none yet.
             * @example builtin
             */
            analyzer: string | null;
            /**
             * @description Version of that analyser.
             * @example 8
             */
            version: string | null;
        };
        /**
         * @description One typed value of a record.
         * @example {
         *       "category": "content",
         *       "type": "string",
         *       "name": "comment",
         *       "value": "The export is slow."
         *     }
         */
        FeedbackField: {
            /**
             * @description `content`: the feedback itself; `created_at`: timestamps; `identifier`: external references; `identity`: users and entities; `metadata`: additional context.
             * @enum {string}
             */
            category: "content" | "created_at" | "identifier" | "identity" | "metadata";
            /**
             * @description JSON type of the value. `date` and `datetime` are strings as in RFC 3339, `datetime` with offset.
             * @enum {string}
             */
            type: "boolean" | "date" | "datetime" | "float" | "integer" | "json" | "string";
            /** @description Descriptive, in snake_case: 1 to 255 characters. */
            name: string;
            /** @description JSON of the type, not `null`; at most 10240 bytes of UTF-8 (the text of a string, else the JSON). */
            value: unknown;
        } & ({
            /** @constant */
            type: "boolean";
            value: boolean;
        } | {
            /** @constant */
            type: "date";
            /** Format: date */
            value: string;
        } | {
            /** @constant */
            type: "datetime";
            /** Format: date-time */
            value: string;
        } | {
            /** @constant */
            type: "float";
            value: number;
        } | {
            /** @constant */
            type: "integer";
            value: number;
        } | {
            /** @constant */
            type: "json";
            value: unknown;
        } | {
            /** @constant */
            type: "string";
            value: string;
        });
        FeedbackRecord: {
            /** @description Id of the record. */
            id: number;
            /** @description Id of the person who gave the feedback; null if unknown. */
            person_id: number | null;
            /** @description Id of its source. */
            feedback_source_id: number;
            /**
             * Format: date-time
             * @description When the feedback was given, in UTC.
             */
            display_ts: string;
            /** @description The caller’s identifier; null if none was given. */
            external_id: string | null;
            /**
             * Format: date-time
             * @description When it was created, in UTC.
             */
            created_at: string;
            /** @description The values of the record, as they were sent. */
            fields: components["schemas"]["FeedbackField"][];
            analysis: components["schemas"]["Analysis"];
        };
        /** @description One page of a list. */
        FeedbackRecordPage: {
            /** @description The items of the page, at most `limit`. If a filter matches few rows, a page may have fewer items or none; `has_more` then tells that the search continues. */
            data: components["schemas"]["FeedbackRecord"][];
            /** @description Maximum number of items on the page. */
            limit: number;
            /** @description Whether there are more items. */
            has_more: boolean;
            /** @description The `cursor` of the next page; null on the last one. */
            next_cursor: string | null;
            /** @description Number of the page, from 1; null if a cursor was given. */
            page: number | null;
        };
        FoundPassage: {
            /**
             * @description Where it was said: in a conversation with an agent, a feedback record, or a recording.
             * @enum {string}
             */
            channel: "recording" | "feedback" | "conversation";
            /** @description Id of the session of the conversation, of the feedback record, or of the recording. */
            id: string;
            /** @description Id of the feedback source; null on other channels. */
            feedbackSourceId: number | null;
            /** @description The person of the conversation, or its application; name of the feedback source, or of the recording. Null if there is none. */
            title: string | null;
            /**
             * @description The text around what was found, as HTML: escaped, with `<mark>` around the words that were found and no other tag.
             * @example The <mark>export</mark> of my <mark>invoices</mark> fails.
             */
            passage: string;
            /**
             * Format: date-time
             * @description When it was said, in UTC. For a recording: when it began.
             */
            occurredAt: string;
            /**
             * Format: uuid
             * @description The `uuid` of the person who said it; null if unknown.
             */
            personId: string | null;
            /** @description Where the passage starts in the recording, in seconds; null on other channels. */
            startSec: number | null;
            /** @description The order of the results. Comparable within one answer only. */
            score: number;
        };
        FoundPassages: {
            /** @description The items of the page, at most `limit`. If a filter matches few rows, a page may have fewer items or none; `has_more` then tells that the search continues. */
            data: components["schemas"]["FoundPassage"][];
            /** @description Maximum number of items on the page. */
            limit: number;
            /** @description Whether there are more items. */
            has_more: boolean;
            /** @description The `cursor` of the next page; null on the last one. */
            next_cursor: string | null;
            /** @description Passages that were found, at most 1,000. A conversation, record or recording is shown once, with its best passage. */
            matches: number;
            /** @description True if there are more than 1,000 matches. The newest were ranked. */
            has_more_matches: boolean;
            /**
             * @description `all`: the passages have all of the words. `any`: no passage has all of them, and these have some; the rarer a word is in the organization, the more it counts. `meaning`: as `any`, and passages that mean the same in other words. More values may follow.
             * @enum {string}
             */
            match: "all" | "any" | "meaning";
            /** @description False if the words of the search could not be understood at the moment, so passages that only mean the same are missing. Ask again. */
            complete: boolean;
            /** @description True if nothing matched as written, and these are matches of similar words. */
            is_corrected: boolean;
        };
        /**
         * @description The values of the field: `string`, `boolean`, `integer` (safe), `float` (finite), `date` (RFC 3339 full-date), `datetime` (RFC 3339 date-time with offset), `json` (anything). Every type also takes `null`.
         * @enum {string}
         */
        MetadataFieldType: "string" | "boolean" | "integer" | "float" | "date" | "datetime" | "json";
        MetadataRecordItem: {
            /**
             * Format: uuid
             * @description Id of the metadata record.
             */
            id: string;
            /** @description Type of its source: `api`, or the provider of an integration. */
            type: string;
            /**
             * Format: uuid
             * @description Id of its source.
             */
            source_id: string;
            /** @description Name of its source. */
            external_entity_name: string;
            /** @description Whether its source is the canonical one. */
            is_canonical_recording_source: boolean;
            /** @description The caller’s identifier; null if there is none. */
            external_id: string | null;
            /** @description Values of its fields. */
            values: components["schemas"]["MetadataValueItem"][];
        };
        MetadataValueItem: {
            /**
             * Format: uuid
             * @description Id of the field.
             */
            field_id: string;
            /** @description Name of the field. */
            name: string;
            type: components["schemas"]["MetadataFieldType"];
            /** @description JSON of the type of the field, or `null`. */
            value: unknown;
        };
        Person: {
            /** @description Id of the person. */
            id: number;
            /**
             * Format: uuid
             * @description Id of the person in the rest of the API, such as `personId` of the participants of a recording.
             */
            uuid: string;
            /** @description First name; null if unknown. */
            first_name: string | null;
            /** @description Last name; null if unknown. */
            last_name: string | null;
            /** @description E-mail address; null if unknown. */
            email: string | null;
            /**
             * @description `external`: a customer; `internal`: a member of the organization.
             * @enum {string}
             */
            boundary: "external" | "internal";
            /** @description Id of the company; null if unknown. */
            company_id: number | null;
            /**
             * Format: date-time
             * @description When it was created, in UTC.
             */
            created_at: string;
        };
        /** @description One page of a list. */
        PersonPage: {
            /** @description The items of the page, at most `limit`. If a filter matches few rows, a page may have fewer items or none; `has_more` then tells that the search continues. */
            data: components["schemas"]["Person"][];
            /** @description Maximum number of items on the page. */
            limit: number;
            /** @description Whether there are more items. */
            has_more: boolean;
            /** @description The `cursor` of the next page; null on the last one. */
            next_cursor: string | null;
            /** @description Number of the page, from 1; null if a cursor was given. */
            page: number | null;
        };
        RecordingItem: {
            /**
             * Format: uuid
             * @description Id of the recording.
             */
            id: string;
            /** @description Name of the recording; null if it has none. */
            display_name: string | null;
            /** @description The origin of the recording, chosen by the caller. */
            source: string;
            /**
             * Format: date-time
             * @description When the recording began, in UTC; null if unknown.
             */
            started_at: string | null;
            /**
             * Format: date-time
             * @description When the recording ended, in UTC; null if unknown.
             */
            completed_at: string | null;
            /**
             * Format: uri
             * @description A temporary URL to play the media from; null if there is none.
             */
            asset_url: string | null;
            /** @description Duration of the media in seconds; null if unknown. */
            asset_duration_seconds: number | null;
            transcript_status: components["schemas"]["TranscriptStatus"];
            /**
             * @description Only of a `failed` transcript, where the reason is known. `audio_unreadable`: the sound of the media cannot be read. `transcriber_refused`: the transcription server refuses this sound. `transcriber_failed`: every attempt of the server or program failed; the log of Earshot says why.
             * @enum {string}
             */
            transcript_error_code?: "audio_unreadable" | "transcriber_refused" | "transcriber_failed";
            analysis: components["schemas"]["Analysis"];
            /** @description What the recording is about; null if there is no summary. */
            summary: string | null;
            /** @description Metadata records of every source, the canonical one first. */
            metadata: components["schemas"]["MetadataRecordItem"][];
        };
        /** @description One page of a list. */
        RecordingItemPage: {
            /** @description The items of the page, at most `limit`. If a filter matches few rows, a page may have fewer items or none; `has_more` then tells that the search continues. */
            data: components["schemas"]["RecordingItem"][];
            /** @description Maximum number of items on the page. */
            limit: number;
            /** @description Whether there are more items. */
            has_more: boolean;
            /** @description The `cursor` of the next page; null on the last one. */
            next_cursor: string | null;
            /** @description Number of the page, from 1; null if a cursor was given. */
            page: number | null;
        };
        Signal: {
            /**
             * Format: uuid
             * @description Id of the signal.
             */
            id: string;
            /**
             * @description Where it was said: in a recording, a feedback record, or a conversation with an agent.
             * @enum {string}
             */
            channel: "recording" | "feedback" | "conversation";
            /** @description Key of the application. Of a conversation; null for the other channels. */
            agentKey: string | null;
            /**
             * Format: uuid
             * @description Id of the session. Of a conversation; null for the other channels.
             */
            sessionId: string | null;
            /** @description The caller’s id of the session. Of a conversation; null for the other channels. */
            externalSessionId: string | null;
            /** @description Id of the feedback record. Of feedback; null for the other channels. */
            recordId: number | null;
            /** @description Id of the source of the feedback record. Of feedback; null for the other channels. */
            feedbackSourceId: number | null;
            /**
             * Format: uuid
             * @description Id of the recording; null for the other channels.
             */
            recordingId: string | null;
            source: components["schemas"]["SignalSource"];
            kind: components["schemas"]["SignalKind"];
            /**
             * @description Whether it is good or bad; null where neither.
             * @enum {string|null}
             */
            rating: "positive" | "negative" | null;
            /** @description Labels of the feedback. */
            labels: string[];
            /** @description What the user wrote, or what the signal was read from; null without any. */
            comment: string | null;
            /** @description How sure the analyser is of a finding; null for explicit feedback. */
            confidence: number | null;
            /** @description What a finding is based on; null for explicit feedback. */
            evidence: {
                /**
                 * @description The customer’s own words.
                 * @example That is not what I asked.
                 */
                quote: string;
                /**
                 * @description Of a conversation: the `externalEventId` of the message that is quoted.
                 * @example m3
                 */
                messageId?: string;
                /**
                 * @description Of feedback: id of the record.
                 * @example 7
                 */
                recordId?: number;
                /**
                 * @description Of feedback: name of the field that is quoted.
                 * @example answer
                 */
                field?: string;
                /**
                 * Format: uuid
                 * @description Of a recording: its id.
                 */
                recordingId?: string;
                /**
                 * @description Of a recording: start of the utterance that is quoted, in seconds.
                 * @example 12.5
                 */
                startSec?: number;
            } | null;
            /** @description What made a finding; null for explicit feedback. */
            analyzer: {
                /**
                 * @description `builtin`, or the model of the configured server.
                 * @example builtin
                 */
                name: string;
                /**
                 * @description Its version.
                 * @example 1
                 */
                version: string;
            } | null;
            /** @description The event that the signal was read from. Of a conversation; null for the other channels. */
            externalEventId: string | null;
            /** @description The assistant response that it is about; null where unknown. */
            targetEventExternalId: string | null;
            /** @description Sequence of the event that the signal was read from. Of a conversation; null for the other channels. */
            sequence: number | null;
            /** @description Revision of the event that the signal was read from. Of a conversation; null for the other channels. */
            revision: number | null;
            /** @description The participant whose signal it is; null where unknown. */
            participantExternalId: string | null;
            /** @description Part of the product, as the context of the conversation says; null where unknown. */
            productArea: string | null;
            /** @description Version of the agent; null where unknown. */
            agentVersion: string | null;
            /**
             * Format: uuid
             * @description The `uuid` of the person who said it; null if unknown.
             */
            personId: string | null;
            /**
             * Format: date-time
             * @description When it was said, in UTC.
             */
            occurredAt: string;
            /**
             * Format: date-time
             * @description When it was created, in UTC.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it was changed last, in UTC.
             */
            updatedAt: string;
        };
        /**
         * @description What the signal says. `message_feedback`: a user rated or commented on a response. The other kinds are findings: the customer reports a bug, asks for a feature, asks a question, complains, praises, is confused, wants a human, may leave, says that an answer is wrong, has the same problem again, or confirms that it works. `user_sentiment`, `resolved`, `unresolved` and `repeated_question` come from older versions and are no longer written.
         * @enum {string}
         */
        SignalKind: "message_feedback" | "bug_report" | "feature_request" | "question" | "complaint" | "praise" | "confusion" | "human_requested" | "churn_risk" | "wrong_answer" | "repeated_problem" | "resolved_confirmation" | "user_sentiment" | "resolved" | "unresolved" | "repeated_question";
        /** @description One page of a list. */
        SignalPage: {
            /** @description The items of the page, at most `limit`. If a filter matches few rows, a page may have fewer items or none; `has_more` then tells that the search continues. */
            data: components["schemas"]["Signal"][];
            /** @description Maximum number of items on the page. */
            limit: number;
            /** @description Whether there are more items. */
            has_more: boolean;
            /** @description The `cursor` of the next page; null on the last one. */
            next_cursor: string | null;
        };
        /**
         * @description `explicit_feedback`: a user gave feedback on a response; `qualitative_inference`: a finding, read out of what was said.
         * @enum {string}
         */
        SignalSource: "explicit_feedback" | "qualitative_inference";
        Theme: {
            /**
             * Format: uuid
             * @description Id of the theme.
             */
            id: string;
            /**
             * @description What its items have in common.
             * @example The password reset email never arrives
             */
            title: string;
            /**
             * @description Words that its items share. Null if the title consists of them.
             * @example password reset · email
             */
            subtitle: string | null;
            /**
             * @description Who gave the title. `terms`: a quotation or words of the items, `model`: a model server, `person`: a person.
             * @enum {string}
             */
            titleBy: "terms" | "model" | "person";
            /** @description It is neither merged nor removed by itself. */
            pinned: boolean;
            /** @description It takes items, and lists leave it out. */
            hidden: boolean;
            /** @description Items, or those of the channel and period that were asked for. */
            count: number;
            /** @description Whether it grows. */
            trend: components["schemas"]["ThemeTrend"];
            /**
             * Format: date-time
             * @description Null without items.
             */
            firstAt: string | null;
            /**
             * Format: date-time
             * @description Null without items.
             */
            lastAt: string | null;
            /**
             * Format: date-time
             * @description When it was created, in UTC.
             */
            createdAt: string;
        };
        ThemeTrend: {
            /** @description Items of the last seven full days of the organization’s time zone. */
            recent: number;
            /** @description Items a week in the four weeks before, on average. */
            before: number;
            /** @description At least 5 recent items, and less than 1 % probable if nothing had changed (Poisson). */
            rising: boolean;
        };
        /** @description One page of a list. */
        ThemesPage: {
            /** @description The items of the page, at most `limit`. If a filter matches few rows, a page may have fewer items or none; `has_more` then tells that the search continues. */
            data: components["schemas"]["Theme"][];
            /** @description Maximum number of items on the page. */
            limit: number;
            /** @description Whether there are more items. */
            has_more: boolean;
            /** @description The `cursor` of the next page; null on the last one. */
            next_cursor: string | null;
        };
        /**
         * @description `waiting`: media or a transcriber is missing; `completed` without utterances: the media has no speech.
         * @enum {string}
         */
        TranscriptStatus: "waiting" | "queued" | "processing" | "completed" | "failed";
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
