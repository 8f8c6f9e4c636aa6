/** Words by which Dutch customers are understood. Lower case; they are looked for in one clause. */
import { type Cues, words } from './cues.ts'

export const DUTCH: Cues = {
  bug_report: words(
    String.raw`loopt (?:\w+ )?vast|crasht|foutmelding|werkt (?:nog steeds |gewoon |helaas )?niet|laadt niet`,
    'doet (?:het )?niets?|kan niet (?:inloggen|openen|opslaan)',
  ),
  feature_request: words(
    String.raw`zou (?:\w+ )?(?:handig|fijn|mooi|leuk|prettig|goed) zijn|ik mis een`,
    'voeg (?:alsjeblieft|aub|graag)',
  ),
  complaint: words(
    'onacceptabel|slechte? (?:service|klantenservice|ervaring)|teleurgesteld',
    '(?:veel )?te (?:duur|traag|langzaam)|niemand (?:reageert|antwoordt)|wacht al|belachelijk',
    'waardeloos',
  ),
  praise: words(
    'geweldig|uitstekend|fijne (?:app|tool|service)|heel (?:fijn|fijne|makkelijk|blij|tevreden|goed)',
    'erg (?:tevreden|blij|goed)|perfect|aanrader|top (?:app|service)|reageert snel',
  ),
  confusion: words(
    'begrijp (?:ik |het |er )?(?:niet|niets)|snap (?:ik |het )?niet|verwarrend|onduidelijk',
    'wat bedoelt u|wat betekent dat',
  ),
  human_requested: words(
    '(?:medewerker|mens|iemand) (?:te )?(?:spreken|bellen)|spreken met (?:een |iemand)',
    'verbind me door|kan iemand me bellen|bel me terug',
  ),
  churn_risk: words(
    String.raw`(?:zeg|zeggen) (?:\w+ ){0,3}(?:op|abonnement)|opzeggen|stappen over|andere aanbieder|overstappen`,
  ),
  wrong_answer: words('klopt (?:dat |het |ook )?niet|dat is (?:fout|onjuist|niet waar)|bestaat niet'),
  repeated_problem: words(
    'nog steeds|nog altijd|weer (?:hetzelfde|dezelfde)|steeds (?:weer|vast)|al (?:twee|drie) keer',
    '(?:tweede|derde) keer|heb ik al',
  ),
  resolved_confirmation: words('(?:het )?werkt (?:nu|weer)|gelukt|opgelost|gevonden'),
}
