/** Words by which German customers are understood. Lower case; they are looked for in one clause. */
import { type Cues, words } from './cues.ts'

export const GERMAN: Cues = {
  bug_report: words(
    'stürzt|abgestürzt|bricht|fehlermeldung|funktioniert (?:einfach |leider |noch |immer |gar )*nicht',
    'geht (?:leider |immer |noch )*nicht(?! um)|lädt nicht|hängt sich auf',
    'wird nicht (?:erkannt|angezeigt|geladen|gespeichert)|verschwunden',
  ),
  feature_request: words(
    String.raw`(?:wäre|fände) (?:\w+ )?(?:schön|toll|gut|super|hilfreich|praktisch|klasse)`,
    '(?:schön|toll|gut|super|hilfreich) wäre|wünsche mir|würde mir wünschen',
    'bitte (?:fügt|fügen|ergänzt|baut) |mir fehlt|es fehlt eine?',
  ),
  complaint: words(
    'frechheit|unverschämt|enttäusch(?:t|end|ung)|schlechter? (?:service|support)',
    'viel zu (?:teuer|langsam|kompliziert)|niemand (?:antwortet|meldet)|antwortet nie',
    String.raw`katastroph\w{0,5}|unzumutbar|ich warte (?:seit|schon)|nie wieder|ärgerlich`,
  ),
  praise: words(
    '(?:tolle?|super|klasse|großartige?r?|hervorragende?r?|geniale?|spitze) (?:app|service|programm|produkt|tool|team|arbeit|support|software)?',
    'sehr (?:zufrieden|gut|einfach zu|hilfreich|empfehlenswert)|liebe (?:diese|die|das|es)',
    'einwandfrei|begeistert|zu empfehlen|weiter so',
  ),
  confusion: words(
    'verstehe (?:das |es |ich )?(?:leider )?(?:nicht|nur bahnhof)|versteh ich nicht|verwirr(?:t|end)',
    'was (?:meinen sie|heißt das|bedeutet das)|unklar|nicht klar|blicke? nicht durch',
  ),
  human_requested: words(
    'mit (?:einem|einer|jemandem|ihrem)? ?(?:echten )?(?:menschen|mitarbeiter|mitarbeiterin|kollegen|berater|jemandem|vorgesetzten)(?: .{0,20})?(?:sprechen|reden|verbinden)?',
    'rufen sie mich|um rückruf|verbinden sie mich',
  ),
  churn_risk: words(
    'kündig(?:en|e|ung)|(?:wechseln|wechsle) (?:zu|den anbieter)|konto löschen',
    'löschen sie (?:mein|unser) konto|anderen anbieter',
  ),
  wrong_answer: words(
    '(?:das|es) (?:ist|war) (?:leider )?(?:falsch|nicht (?:richtig|korrekt|wahr))',
    'stimmt (?:so )?(?:leider )?nicht|gibt es (?:gar |dort |hier )?nicht|diese option gibt es',
  ),
  repeated_problem: words(
    'immer (?:noch|wieder)|(?:schon|bereits) (?:wieder|zweimal|dreimal|mehrfach|einmal)|trotzdem',
    'erneut|zum (?:zweiten|dritten|vierten) mal|gleiche[rs]? (?:fehler|problem)',
    'habe ich (?:schon|bereits)',
  ),
  resolved_confirmation: words(
    String.raw`(?:hat|es hat|hat jetzt) (?:\w+ )?(?:funktioniert|geklappt|geholfen)`,
    'jetzt (?:funktioniert|geht|klappt|läuft)|funktioniert (?:jetzt|wieder)|problem gelöst|gefunden',
    'erledigt',
  ),
}
